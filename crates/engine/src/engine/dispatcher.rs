//! The dispatcher: the task that owns the state of a run and drives it.
//!
//! [`drive`] is the entry. The loop waits for messages, timers, controls and the inbox, queues them
//! as inputs, and runs a tick (`tick`). Each part of the dispatcher has one owner: `context` (what
//! does not change), `queue`, `tick` (the pending write), `timers`, `active` (running attempts) and
//! `secret_fetcher`.

use super::active::ActiveAttempts;
use super::attempt::Attempt;
use super::attempts::Message;
use super::context::RunContext;
use super::event_channel::EventSender;
use super::fold::Folded;
use super::inbox::{self, Delivery};
use super::payloads::Payloads;
use super::pending_write::PendingWrite;
use super::queue::InputQueue;
use super::secret_fetcher::SecretFetcher;
use super::setup::{RunControl, Setup, StartMode, Summary};
use super::step_locks::StepLocks;
use super::timers::Timers;
use super::verified_result::VerifiedResults;
use crate::journal::JournalError;
use kb_attempt::Stopped;
use kb_clock::{BusyGuard, WokenGuard};
use kb_core::run::{Input, InstanceIx, RunStatus, StepStatus};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;

/// Interval between two reads of the inbox.
const INBOX_INTERVAL: Duration = Duration::from_millis(200);

/// Drives a run until it ends, waits for people only, or is stopped. `events` receives stored events
/// and progress; `control` stops the run. Fails only if the journal fails; everything before that is
/// stored.
pub async fn drive(
    setup: Setup,
    events: Option<EventSender>,
    control: UnboundedReceiver<RunControl>,
) -> Result<Summary, JournalError> {
    run_to_end(Dispatcher::open(setup, events, control)).await
}

async fn run_to_end(mut dispatcher: Dispatcher) -> Result<Summary, JournalError> {
    let ended = dispatcher.run().await;
    if ended.is_err() {
        // Work that cannot be recorded must stop.
        dispatcher.abandoned = true;
        dispatcher.attempts.stop_all().await;
    }
    let RunContext { parts, run, epoch, .. } = &dispatcher.context;
    if dispatcher.abandoned {
        parts.journal.abandon(run, *epoch).await
    } else {
        parts.journal.release(run, *epoch).await
    }
    ended?;
    Ok(dispatcher.summary())
}

/// What a dispatcher waits for.
enum Arrived {
    Message(Message),
    Control(RunControl),
    Timer(WokenGuard),
    Expiry(WokenGuard),
    Inbox,
}

pub(super) struct Dispatcher {
    pub(super) context: RunContext,
    /// The state of the run and the records of live attempts.
    pub(super) folded: Folded,
    pub(super) inputs: InputQueue,
    pub(super) write: PendingWrite,
    pub(super) timers: Timers,
    pub(super) attempts: ActiveAttempts,
    pub(super) secrets: SecretFetcher,
    /// Locks between runs that live instances hold.
    pub(super) locks: StepLocks,
    pub(super) control: UnboundedReceiver<RunControl>,
    start: StartMode,
    pub(super) verified: VerifiedResults,
    /// Lists of files, merges and checks of replies that were asked for and have not come.
    pub(super) outstanding: Vec<BusyGuard>,
    /// Whether a reply of a person is being checked.
    is_checking: bool,
    /// Whether a step of the plan executes a child run.
    has_children: bool,
    /// Whether the state machine allows to leave the run.
    pub(super) leaving: bool,
    /// Whether the run is left at once, without the end of its attempts.
    pub(super) abandoned: bool,
}

impl Dispatcher {
    fn open(
        setup: Setup,
        events: Option<EventSender>,
        control: UnboundedReceiver<RunControl>,
    ) -> Self {
        let Setup { mut parts, run, epoch, plan, params, task_files, rules, .. } = setup;
        let Setup { facts, parent, start, history, verified, earlier, .. } = setup;
        if let Some(last) = history.last() {
            parts.clock = parts.clock.continuing(last.at);
        }
        let mut folded = Folded::since((facts, parent), &plan, rules, &history);
        parts.secrets.follow(folded.known.touched_now());
        folded.earlier.continue_from(earlier);
        let clock = parts.clock.clone();
        let timers = Timers::new(clock.clone(), plan.playbook().limits.timeout);
        let payloads = Payloads::new(parts.journal.clone());
        let task_files = Arc::new(task_files);
        let context = RunContext { parts, run, epoch, plan, params, task_files, payloads, events };
        let secrets = SecretFetcher::new(&context, &folded.state, &history);
        let has_children = context.plan.steps().iter().any(|step| step.child().is_some());
        let mut dispatcher = Dispatcher {
            context,
            folded,
            inputs: InputQueue::default(),
            write: PendingWrite::new(clock.now()),
            timers,
            attempts: ActiveAttempts::new(clock),
            secrets,
            locks: StepLocks::default(),
            control,
            start,
            verified,
            outstanding: Vec::new(),
            is_checking: false,
            has_children,
            leaving: false,
            abandoned: false,
        };
        dispatcher.queue_start(history.is_empty());
        dispatcher
    }

    fn queue_start(&mut self, is_new: bool) {
        let alive = self.context.parts.journal.last_renewal(&self.context.run);
        self.inputs.push(match self.start.clone() {
            StartMode::Start { digest, environment, presets } if is_new => {
                let redactor = &self.context.parts.redactor;
                let params = redactor.mask((*self.context.params).clone());
                let environment = redactor.mask(environment);
                Input::Started { digest, params, environment, presets }
            }
            StartMode::Start { .. } | StartMode::Resume | StartMode::Answer { .. } => {
                Input::Recovered { cancel: None, alive }
            }
            StartMode::Retry { from, alone, reason } => {
                let reason = self.context.parts.redactor.mask(reason);
                Input::Reset { roots: from, alone, reason }
            }
            StartMode::Cancel { by } => {
                let cancel = Some(self.context.parts.redactor.mask(by));
                Input::Recovered { cancel, alive }
            }
        });
    }

    async fn run(&mut self) -> Result<(), JournalError> {
        let mut inbox = tokio::time::interval(INBOX_INTERVAL);
        inbox.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // First the start, then the messages that arrived while the run had no lease owner.
        self.tick().await?;
        if let StartMode::Answer { step, reply } = self.start.clone() {
            let delivery =
                inbox::deliver(&self.context, &self.folded, None, step.as_deref(), reply);
            if delivery.needs_check() {
                self.check(delivery)
            } else {
                self.inputs.push_all(delivery.without_check(&self.context))
            }
        }
        self.read_inbox().await?;
        self.leaving &= self.inputs.is_empty();
        loop {
            self.tick().await?;
            // A start without work may be followed by an answer that brings work.
            self.leaving &= self.folded.state.running() == 0 && self.outstanding.is_empty();
            if self.leaving && !self.abandoned && !self.folded.state.status().has_ended() {
                // A message may have arrived meanwhile.
                self.read_inbox().await?;
                self.leaving = self.inputs.is_empty() && self.outstanding.is_empty();
                if !self.leaving {
                    continue;
                }
            }
            if self.leaving || self.abandoned || self.is_left_to_test() {
                self.attempts.stop_all().await;
                return Ok(());
            }
            let (mut timer, mut expiry) = (pin!(self.timers.next()), pin!(self.timers.expiry()));
            let clock = self.context.parts.clock.clone();
            let rest = clock.rest();
            let arrived = tokio::select! {
                biased;
                Some(message) = self.attempts.recv() => Arrived::Message(message),
                Some(control) = self.control.recv() => Arrived::Control(control),
                woken = &mut timer => Arrived::Timer(woken),
                woken = &mut expiry => Arrived::Expiry(woken),
                _ = inbox.tick() => Arrived::Inbox,
                never = rest.begin() => match never {},
            };
            drop(rest);
            match arrived {
                Arrived::Message(message) => self.receive(message)?,
                Arrived::Control(control) => self.apply_control(control),
                Arrived::Timer(woken) => drop(woken),
                Arrived::Expiry(woken) => {
                    self.expire();
                    drop(woken);
                }
                Arrived::Inbox => {
                    self.context.parts.journal.renew(&self.context.run);
                    self.read_inbox().await?;
                    self.watch_children();
                }
            }
            while let Some(message) = self.attempts.try_recv() {
                self.receive(message)?;
            }
            for instance in self.timers.take_due() {
                self.inputs.push(Input::TimerDue { instance });
            }
        }
    }

    /// Whether a test is to reply before the time to reply passes. Child runs of a test have no replies.
    fn is_left_to_test(&self) -> bool {
        let RunContext { parts, plan, .. } = &self.context;
        let is_idle = self.attempts.is_empty() && self.outstanding.is_empty();
        let state = &self.folded.state;
        let waits = |ix: &InstanceIx| state.instance(*ix).status == StepStatus::Waiting;
        let next = || {
            self.timers.upcoming().find(waits).is_some_and(|ix| state.waits_for_person(plan, ix))
        };
        parts.faults.is_some() && is_idle && self.inputs.is_empty() && next()
    }

    async fn read_inbox(&mut self) -> Result<(), JournalError> {
        let (folded, write, inputs) = (&self.folded, &self.write, &mut self.inputs);
        let read = inbox::read(&self.context, folded, write, inputs, self.is_checking).await?;
        if let Some(delivery) = read {
            self.check(delivery);
        }
        Ok(())
    }

    /// Checks a reply beside this task, because an answer can be large and its schema slow.
    fn check(&mut self, delivery: Delivery) {
        let RunContext { parts, payloads, .. } = &self.context;
        let (redactor, payloads) = (parts.redactor.clone(), payloads.clone());
        let messages = self.attempts.sender();
        self.is_checking = true;
        self.outstanding.push(parts.clock.busy());
        tokio::task::spawn_blocking(move || {
            let (message, refused) = (delivery.message, delivery.refused());
            let check = AssertUnwindSafe(|| delivery.check(&redactor, &payloads));
            // A panic is a defect of `kb`; the question stays open.
            let inputs = catch_unwind(check).unwrap_or(refused);
            let _ = messages.send(Message::Checked { message, inputs });
        });
    }

    /// Continues the steps whose child runs were answered by another process.
    fn watch_children(&mut self) {
        let RunContext { parts, plan, .. } = &self.context;
        if !self.has_children {
            return;
        }
        let state = &self.folded.state;
        let all = state.instances().filter(|(ix, _)| state.waits_for_child(plan, *ix));
        let moved = all.filter(|(_, instance)| {
            let row = instance.child().and_then(|child| parts.journal.run(&child.run).ok());
            row.is_some_and(|row| row.status == RunStatus::Interrupted || row.status.has_ended())
        });
        let moved: Vec<_> = moved.map(|(instance, _)| Input::ChildMoved { instance }).collect();
        moved.into_iter().for_each(|input| self.inputs.push(input));
    }

    fn receive(&mut self, message: Message) -> Result<(), JournalError> {
        match message {
            Message::Record { stored, .. } if self.abandoned => {
                let _ = stored.send(Err(Stopped));
            }
            Message::Record { work, record, stored } => {
                let Attempt { instance, iteration, attempt } = work;
                let input = Input::Recorded { instance, iteration, attempt, record };
                self.inputs.push_record(input, stored);
            }
            Message::Exchange { heard, .. } if self.abandoned => {
                let _ = heard.send(Err(Stopped));
            }
            Message::Exchange { work, call, exchange, heard } => {
                let Attempt { instance, iteration, attempt } = work;
                let input = Input::Exchanged { instance, iteration, attempt, call, exchange };
                self.inputs.push_exchange(input, heard);
            }
            Message::Ended { work, report } => {
                let Attempt { instance, iteration, attempt } = work;
                self.attempts.remove(instance);
                let report = report.map(|report| *report);
                self.inputs.push(Input::AttemptEnded { instance, iteration, attempt, report });
            }
            Message::Asks { work, wait } => {
                let Attempt { instance, iteration, attempt } = work;
                self.attempts.remove(instance);
                self.inputs.push(Input::WaitOpened { instance, iteration, attempt, wait });
            }
            Message::Waits { work, reason } => {
                let Attempt { instance, iteration, attempt } = work;
                self.attempts.remove(instance);
                self.inputs.push(Input::ChildWaits { instance, iteration, attempt, reason });
            }
            Message::Judged { work, observed, verification } => {
                let Attempt { instance, iteration, attempt } = work;
                self.attempts.remove(instance);
                if let Some(record) = observed {
                    self.inputs.push(Input::Recorded { instance, iteration, attempt, record });
                }
                let verification = verification.map(|verification| *verification);
                self.inputs.push(Input::Judged { instance, iteration, attempt, verification });
            }
            Message::Listed { instance, iteration, listed } => {
                self.after_listing(instance, iteration, listed);
            }
            Message::Merged { instance, iteration, merged } => {
                self.outstanding.pop();
                self.inputs.push(Input::Merged { instance, iteration, merged });
            }
            Message::Checked { message, inputs } => {
                self.outstanding.pop();
                self.is_checking = false;
                match message {
                    Some(id) => drop(self.inputs.push_message(id, inputs)),
                    None => self.inputs.push_all(inputs),
                }
            }
            Message::Fetched { work, effect, fetched } => self.after_fetch(work, *effect, fetched),
            Message::JournalFailed { ended, error } => {
                ended.map(|instance| self.attempts.remove(instance));
                return Err(error);
            }
        }
        Ok(())
    }

    pub(super) fn apply_control(&mut self, control: RunControl) {
        match control {
            RunControl::Drain(reason) => {
                self.attempts.shutdown().drain.cancel();
                let reason = self.context.parts.redactor.mask(reason);
                self.inputs.push(Input::Drain { reason });
            }
            RunControl::Cancel(by) => {
                let by = self.context.parts.redactor.mask(by);
                self.inputs.push(Input::CancelRequested { by });
            }
            RunControl::Abandon => self.abandoned = true,
        }
    }

    fn expire(&mut self) {
        self.timers.end_deadline();
        if let Some(limit) = self.context.plan.playbook().limits.timeout {
            self.inputs.push(Input::Expired { limit_ms: limit.as_millis() as u64 });
        }
    }

    fn summary(&self) -> Summary {
        let state = &self.folded.state;
        let status = match state.status() {
            RunStatus::Running if self.abandoned || state.is_draining() => RunStatus::Interrupted,
            RunStatus::Running => RunStatus::Waiting,
            stored @ (RunStatus::Waiting
            | RunStatus::Interrupted
            | RunStatus::Succeeded
            | RunStatus::Failed
            | RunStatus::Cancelled) => stored,
        };
        Summary {
            run: self.context.run.clone(),
            status,
            outputs: state.outputs().cloned(),
            failure: state.failure().cloned(),
            usage: state.usage(),
            started_at: state.started_at(),
            ended_at: self.context.parts.clock.now(),
        }
    }
}
