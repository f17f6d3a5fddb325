//! What does not change while a dispatcher drives a run, and how expressions read a run.

use super::attempt::Attempt;
use super::attempts::{AttemptChannel, Message};
use super::event_channel::EventSender;
use super::payloads::Payloads;
use super::prompts::PromptLog;
use super::read_faults::ReadFaults;
use super::scope::RunScope;
use super::setup::Parts;
use kb_base::value::{Failure, Json, JsonMap, RunId};
use kb_core::redaction::Masked;
use kb_core::run::{InstanceIx, State};
use kb_language::plan::{Plan, PlanStep};
use std::cell::Cell;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc::UnboundedSender;

/// The constant part of a dispatcher: the run, its plan and the parts of the engine.
pub(super) struct RunContext {
    pub(super) parts: Parts,
    pub(super) run: RunId,
    pub(super) epoch: u64,
    pub(super) plan: Arc<Plan>,
    pub(super) params: Arc<Json>,
    pub(super) task_files: Arc<JsonMap>,
    pub(super) payloads: Payloads,
    /// Where displays receive events; `None` if there is no display.
    pub(super) events: Option<EventSender>,
}

impl RunContext {
    /// The plan step of an instance.
    pub(super) fn planned(&self, state: &State, ix: InstanceIx) -> &PlanStep {
        self.plan.step(state.instance(ix).step)
    }

    /// The values that an instance can read; without one, those that the run's outputs can read.
    pub(super) fn scope<'a>(
        &'a self,
        state: &'a State,
        instance: Option<InstanceIx>,
    ) -> RunScope<'a> {
        RunScope {
            plan: &self.plan,
            state,
            run: &self.run,
            params: &self.params,
            instance,
            payloads: &self.payloads,
            secrets: &*self.parts.secrets,
            item: None,
            depth: Cell::default(),
            faults: ReadFaults::default(),
        }
    }

    /// The failure without the values of secrets.
    pub(super) fn masked(&self, failure: Failure) -> Masked<Failure> {
        self.parts.redactor.mask(failure)
    }

    /// The channel of one attempt or gate.
    pub(super) fn channel(
        &self,
        state: &State,
        work: Attempt,
        messages: UnboundedSender<Message>,
    ) -> Arc<AttemptChannel> {
        Arc::new(AttemptChannel {
            work,
            key: state.key(&self.plan, work.instance),
            step: self.planned(state, work.instance).step.clone(),
            tools: self.plan.tools().clone(),
            messages,
            events: self.events.clone(),
            payloads: self.payloads.clone(),
            redactor: self.parts.redactor.clone(),
            prompts: PromptLog::new(self.parts.prompts),
            tokens: Mutex::new(self.parts.redactor.stream()),
            last_activity: Mutex::new(self.parts.clock.instant()),
            processes: AtomicUsize::new(0),
            clock: self.parts.clock.clone(),
            parent: self.parts.parent.clone(),
        })
    }
}
