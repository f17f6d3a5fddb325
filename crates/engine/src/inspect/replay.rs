//! Recomputes the verdicts of a run from its recorded observations.

use crate::engine::Payloads;
use crate::journal::Journal;
use kb_base::value::Json;
use kb_core::evidence::{Payload, Record, ToolTrace, Verification};
use kb_core::run::{Event, InstanceIx};
use kb_core::verify::{Basis, ParsedGate};
use kb_language::plan::Plan;
use std::collections::BTreeMap;
use std::sync::Arc;

/// State of a step instance during the replay. It does not share code with the state machine that
/// drives runs, so that a mistake there is not repeated here.
#[derive(Default, Clone)]
struct InstanceState {
    step: usize,
    name: String,
    output: Option<Payload>,
    calls: ToolTrace,
    observed: Option<Payload>,
}

/// A verdict of a run, as recorded and as recomputed.
pub(super) struct Judgement<'a> {
    /// Number of its event.
    pub(super) seq: u64,
    /// Name of the instance.
    pub(super) name: &'a str,
    /// The recorded verdict.
    pub(super) recorded: &'a Verification,
    /// The one that the recorded observations give; an error says why there is none. `None` without observations.
    pub(super) again: Option<Result<Verification, String>>,
}

/// How the verdicts are recomputed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// As the gates did.
    Same,
    /// As if no key of an output were commentary: what no check reads is named.
    Whole,
}

/// Replays the events of a run and recomputes each verdict.
struct Replay<'a> {
    plan: Arc<Plan>,
    payloads: Payloads,
    states: BTreeMap<InstanceIx, InstanceState>,
    reading: Reading,
    judged: &'a mut dyn FnMut(Judgement<'_>),
}

/// Recomputes the verdicts in these events, in their order.
pub(super) fn replay<'e>(
    journal: &Arc<dyn Journal>,
    plan: Arc<Plan>,
    events: impl IntoIterator<Item = (u64, &'e Event)>,
    reading: Reading,
    judged: &mut dyn FnMut(Judgement<'_>),
) {
    let steps = plan.steps().iter().enumerate().map(|(step, planned)| {
        let name = planned.step.id.to_string();
        (InstanceIx(step as u32), InstanceState { step, name, ..InstanceState::default() })
    });
    let states = steps.collect();
    let payloads = Payloads::new(journal.clone());
    let mut replay = Replay { plan, payloads, states, reading, judged };
    events.into_iter().for_each(|(seq, event)| replay.apply(seq, event));
}

impl Replay<'_> {
    fn apply(&mut self, seq: u64, event: &Event) {
        match event {
            Event::Expanded { instance, first, keys, .. } => self.expand(*instance, *first, keys),
            Event::Recorded { instance, record, .. } => {
                let Some(state) = self.states.get_mut(instance) else { return };
                match &**record {
                    Record::ToolResult { invocation, .. } => state.calls.push(invocation.clone()),
                    Record::CacheHit(hit) => state.calls.take(&hit.trace),
                    Record::Observed { basis } => state.observed = Some(basis.clone()),
                    _ => {}
                }
            }
            Event::AttemptEnded { instance, output, .. } => {
                if let Some(state) = self.states.get_mut(instance) {
                    state.output.clone_from(output);
                    state.observed = None;
                    state.calls.end_attempt();
                }
            }
            Event::RunResumed { in_flight, .. } => {
                for ix in in_flight {
                    self.states.entry(*ix).and_modify(|state| state.calls.interrupt());
                }
            }
            Event::Judged { instance, verification, .. } => {
                self.judged(seq, *instance, verification);
            }
            Event::PassEnded { instance, .. } => {
                let Some(state) = self.states.get_mut(instance) else { return };
                let step = &self.plan.steps()[state.step].step;
                if !step.details().keeps_evidence_of_passes() {
                    state.calls.clear();
                }
            }
            Event::Ended { instance, .. } => self.forget(*instance),
            Event::Reset { closure, .. } | Event::SentBack { closure, .. } => {
                closure.iter().for_each(|ix| self.forget(*ix))
            }
            _ => {}
        }
    }

    fn expand(&mut self, parent: InstanceIx, first: InstanceIx, keys: &[String]) {
        let Some(InstanceState { step, name, .. }) = self.states.get(&parent).cloned() else {
            return;
        };
        for (ix, key) in (first.0..).map(InstanceIx).zip(keys) {
            let name = format!("{name}[{key}]");
            self.states.insert(ix, InstanceState { step, name, ..InstanceState::default() });
        }
    }

    fn forget(&mut self, ix: InstanceIx) {
        if let Some(state) = self.states.get_mut(&ix) {
            state.calls.clear();
            (state.output, state.observed) = (None, None);
        }
    }

    fn judged(&mut self, seq: u64, ix: InstanceIx, recorded: &Verification) {
        let Some(state) = self.states.get_mut(&ix) else { return };
        let observed = state.observed.take();
        let state = state.clone();
        let again = observed.map(|observed| self.recompute(&state, &observed));
        (self.judged)(Judgement { seq, name: &state.name, recorded, again });
    }

    /// The verdict that the recorded observations give.
    fn recompute(&self, state: &InstanceState, observed: &Payload) -> Result<Verification, String> {
        let load = |payload: &Payload| self.payloads.load(payload).map_err(|e| e.to_string());
        let basis: Basis = serde_json::from_value((*load(observed)?).clone())
            .map_err(|error| format!("the recorded observations cannot be read: {error}"))?;
        let output = match &state.output {
            Some(output) => load(output)?,
            None => Arc::new(Json::Null),
        };
        let step = &self.plan.steps()[state.step].step;
        let calls = state.calls.invocations().to_vec();
        let (mut gate, observations) = basis
            .restore(
                output,
                step.details().output_schema.clone(),
                step.checks(),
                calls,
                self.plan.tools().clone(),
            )
            .map_err(|incomplete| incomplete.to_string())?;
        if self.reading == Reading::Whole {
            gate.excused.clear();
        }
        Ok(ParsedGate::of(gate).examine(&observations).verdict())
    }
}
