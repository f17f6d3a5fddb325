//! The tasks of attempts and gates, which run beside the dispatcher and answer with messages.

use super::attempt::Attempt;
use super::event_channel::EventSender;
use super::payloads::Payloads;
use super::prompts::PromptLog;
use super::report;
use super::setup::{Parts, Update};
use crate::journal::{JournalError, LockRequest};
use futures::FutureExt;
use futures::future::BoxFuture;
use kb_attempt::GateRequest;
use kb_attempt::{Context, Outcome, Progress, Recorder, Request, Shutdown, Stopped};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, InstanceKey, OutcomeKind};
use kb_clock::{RunClock, WokenGuard};
use kb_core::evidence::{
    CheckDetail, Confidence, Exchange, Heard, Merged, Payload, Record, Verdict, Verification,
};
use kb_core::redaction::{Masked, Redactor, StreamMasker};
use kb_core::run::{AttemptReport, Effect, Input, InstanceIx, Question, Wait};
use kb_language::definition::Step;
use kb_language::expression::Scope;
use kb_language::toolspec::ToolCatalog;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The result of a fetch of secrets.
pub(super) type Fetched = Result<Vec<LockRequest>, (OutcomeKind, Box<Failure>)>;

/// A message from a task to the dispatcher.
pub(super) enum Message {
    /// A record that must be stored before the attempt continues.
    Record {
        work: Attempt,
        record: Masked<Box<Record>>,
        stored: oneshot::Sender<Result<(), Stopped>>,
    },
    /// The attempt says something to the other steps, or asks what they said.
    Exchange {
        work: Attempt,
        call: String,
        exchange: Masked<Box<Exchange>>,
        heard: oneshot::Sender<Result<Heard, Stopped>>,
    },
    /// The attempt ended.
    Ended { work: Attempt, report: Masked<Box<AttemptReport>> },
    /// A tool call of the attempt requires an approval.
    Asks { work: Attempt, wait: Masked<Wait> },
    /// The attempt executes a child run that waits.
    Waits { work: Attempt, reason: Masked<String> },
    /// The gate ended, with the observations of its checks.
    Judged {
        work: Attempt,
        observed: Option<Masked<Box<Record>>>,
        verification: Masked<Box<Verification>>,
    },
    /// The secrets of an effect were fetched, or the fetch failed.
    Fetched { work: Attempt, effect: Box<Effect>, fetched: Fetched },
    /// The files that are the items of a step were listed.
    Listed { instance: InstanceIx, iteration: u32, listed: Result<Vec<String>, Failure> },
    /// The changes of a step in a worktree or copy were merged, or could not be.
    Merged { instance: InstanceIx, iteration: u32, merged: Masked<Merged> },
    /// The reply of a person was checked. `message` is the message of the inbox that it came with.
    Checked { message: Option<i64>, inputs: Vec<Input> },
    /// The journal cannot store blobs. `ended` is the attempt that ended because of it.
    JournalFailed { ended: Option<InstanceIx>, error: JournalError },
}

/// The channel from one attempt to the dispatcher and to displays.
pub(super) struct AttemptChannel {
    pub(super) work: Attempt,
    pub(super) key: InstanceKey,
    pub(super) step: Arc<Step>,
    pub(super) tools: ToolCatalog,
    pub(super) messages: UnboundedSender<Message>,
    pub(super) events: Option<EventSender>,
    pub(super) payloads: Payloads,
    pub(super) redactor: Arc<Redactor>,
    pub(super) prompts: PromptLog,
    /// Masks the tokens of the current model response.
    pub(super) tokens: Mutex<StreamMasker>,
    pub(super) last_activity: Mutex<Instant>,
    /// Number of running tool calls with processes, which have the idle timeout themselves.
    pub(super) processes: AtomicUsize,
    /// The time of the run.
    pub(super) clock: RunClock,
    /// The attempt of the parent run that waits for this run.
    pub(super) parent: Option<Arc<dyn Recorder>>,
}

impl AttemptChannel {
    fn note_activity(&self) {
        *self.last_activity.lock().unwrap_or_else(PoisonError::into_inner) = self.clock.instant();
        if let Some(parent) = &self.parent {
            parent.active();
        }
    }

    /// Counts the running tool calls with processes.
    fn count_processes(&self, record: &Record) {
        let runs_processes = |tool: &str| self.tools.entry(tool).runs_processes;
        match record {
            Record::ToolCall { tool, .. } if runs_processes(tool) => {
                self.processes.fetch_add(1, Ordering::SeqCst);
            }
            Record::ToolResult { invocation, .. } if runs_processes(&invocation.tool) => {
                let less = |count: usize| count.checked_sub(1);
                let _ = self.processes.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
            }
            _ => {}
        }
    }

    /// Waits until there was no activity for the idle timeout; forever without one.
    async fn silent_for(&self, idle: Option<Duration>) -> WokenGuard {
        let Some(idle) = idle else { return std::future::pending().await };
        loop {
            let last = *self.last_activity.lock().unwrap_or_else(PoisonError::into_inner);
            let woken = self.clock.sleep_until(last + idle).await;
            if self.processes.load(Ordering::SeqCst) > 0 {
                self.note_activity();
            }
            let active = *self.last_activity.lock().unwrap_or_else(PoisonError::into_inner);
            if active == last {
                return woken;
            }
        }
    }

    /// Stores what was masked, and sends the message for it, or that the journal failed.
    pub(super) fn send<T>(
        &self,
        ended: Option<InstanceIx>,
        stored: Result<T, JournalError>,
        message: impl FnOnce(T) -> Message,
    ) -> Result<(), Stopped> {
        let (message, result) = match stored {
            Ok(value) => (message(value), Ok(())),
            Err(error) => (Message::JournalFailed { ended, error }, Err(Stopped)),
        };
        self.messages.send(message).map_err(|_| Stopped).and(result)
    }

    fn masked_progress(&self, progress: Progress, events: &EventSender) -> Masked<Progress> {
        let tokens = || self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        match progress {
            // A line that was cut may end in the middle of a secret.
            Progress::Output(line) => self.redactor.mask_truncated(&line).map(Progress::Output),
            Progress::Tool(call) => self.redactor.mask(call).map(Progress::Tool),
            // A secret may be split between tokens, so they are masked as one stream.
            Progress::Token(text) => tokens().push(&text).map(Progress::Token),
            Progress::Model(model) => {
                // The end of the previous response.
                let rest = tokens().flush();
                if !rest.is_empty() {
                    let (instance, progress) = (self.key.clone(), rest.map(Progress::Token));
                    events.progress(Update::Progress { instance, progress });
                }
                self.redactor.mask(model).map(Progress::Model)
            }
        }
    }
}

impl Recorder for AttemptChannel {
    fn record(&self, record: Record) -> BoxFuture<'_, Result<(), Stopped>> {
        self.note_activity();
        self.count_processes(&record);
        async move {
            let record = self.redactor.mask(self.prompts.select(record));
            let record = self.prompts.reduce(record);
            let (stored, answer) = oneshot::channel();
            let work = self.work;
            self.send(None, self.payloads.store_record(record), |record| Message::Record {
                work,
                record: record.map(Box::new),
                stored,
            })?;
            answer.await.unwrap_or(Err(Stopped))
        }
        .boxed()
    }

    fn exchange(&self, call: String, exchange: Exchange) -> BoxFuture<'_, Result<Heard, Stopped>> {
        self.note_activity();
        async move {
            let exchange = self.redactor.mask(exchange).map(Box::new);
            let (heard, answer) = oneshot::channel();
            let message = Message::Exchange { work: self.work, call, exchange, heard };
            self.messages.send(message).map_err(|_| Stopped)?;
            answer.await.unwrap_or(Err(Stopped))
        }
        .boxed()
    }

    fn progress(&self, progress: Progress) {
        self.note_activity();
        if let Some(events) = &self.events {
            let progress = self.masked_progress(progress, events);
            events.progress(Update::Progress { instance: self.key.clone(), progress });
        }
    }
    fn active(&self) {
        self.note_activity();
    }
}

/// Executes one attempt to its end. Always sends a message, also after a panic.
pub(super) async fn run(
    parts: Parts,
    channel: Arc<AttemptChannel>,
    request: Request,
    cancel: CancellationToken,
    shutdown: Shutdown,
) {
    // The supervisor applies the idle timeout of processes.
    let is_process = request.work.is_process();
    channel.note_activity();
    let (timeout, idle) = (request.timeout, request.idle.filter(|_| !is_process));
    let context = Context { cancel: cancel.clone(), recorder: channel.clone(), shutdown };
    let work = AssertUnwindSafe(parts.executor.execute(request, context)).catch_unwind();
    tokio::pin!(work);
    let (clock, mut late) = (channel.clock.clone(), None);
    let mut timed_out = pin!(expired(&clock, timeout));
    let mut silent = pin!(channel.silent_for(idle));
    let ended = tokio::select! {
        ended = &mut work => ended,
        _woken = &mut timed_out => {
            late = Some(too_late("took longer than", timeout));
            cancel.cancel();
            work.await
        }
        _woken = &mut silent => {
            late = Some(too_late("was silent for more than", idle));
            cancel.cancel();
            work.await
        }
    };
    channel.note_activity();
    let mut outcome = ended.unwrap_or_else(|panic| panicked(&*panic));
    if let Some(request) = outcome.asks.take() {
        let question = Question::of_call(*request, channel.clock.now());
        let wait = channel.redactor.mask(Wait::Person(Box::new(question)));
        let _ = channel.messages.send(Message::Asks { work: channel.work, wait });
        return;
    }
    if let Some(reason) = outcome.waits.take() {
        let (work, reason) = (channel.work, channel.redactor.mask(reason));
        let _ = channel.messages.send(Message::Waits { work, reason });
        return;
    }
    if let Some(mut failure) = late.filter(|_| outcome.kind != OutcomeKind::Ok) {
        failure.details = outcome.failure.and_then(|f| f.details);
        outcome = Outcome { kind: OutcomeKind::Timeout, failure: Some(failure), ..outcome };
    }
    if let Some(error) = outcome.failure.as_ref().and_then(failed_storage) {
        let ended = Some(channel.work.instance);
        let _ = channel.messages.send(Message::JournalFailed { ended, error });
        return;
    }
    let outcome = super::prepare::check_output(&channel.step, outcome, &channel.redactor);
    let report = channel.payloads.store_report(report::report(outcome, &channel.redactor));
    let work = channel.work;
    let ended = Some(work.instance);
    let _ =
        channel.send(ended, report, |report| Message::Ended { work, report: report.map(Box::new) });
}

/// The step is not at fault if `kb` cannot store its own state: nothing is recorded, and the run can be resumed.
fn failed_storage(failure: &Failure) -> Option<JournalError> {
    match failure.code {
        Code::JOURNAL_FULL => Some(JournalError::Full(None)),
        Code::STATE_UNSTORED => Some(JournalError::Broken(failure.message.clone())),
        _ => None,
    }
}

/// Waits for the end of a timeout; forever without one.
pub(super) async fn expired(clock: &RunClock, timeout: Option<Duration>) -> WokenGuard {
    match timeout {
        Some(timeout) => clock.sleep_until(clock.instant() + timeout).await,
        None => std::future::pending().await,
    }
}

/// The failure of an attempt that exceeded a timeout.
pub(super) fn too_late(what: &str, timeout: Option<Duration>) -> Failure {
    let limit = timeout.map(kb_base::value::format_duration).unwrap_or_default();
    Failure::new(Code::TIMED_OUT, format!("the attempt {what} {limit}"))
        .help("raise `timeout`, or split the step")
}

/// The failure of an attempt that was cancelled before it did anything.
pub(super) fn cancelled() -> Failure {
    Failure::new(Code::ATTEMPT_FAILED, "cancelled")
}

/// A panic is a defect of `kb`. It fails the step and leaves the run alive.
fn panicked(panic: &(dyn std::any::Any + Send)) -> Outcome {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    let failure = Failure::new(Code::INTERNAL_ERROR, format!("internal error in `kb`: {text}"))
        .help("please report it with the events of the run: `kb run events RUN`");
    Outcome::failed(OutcomeKind::Unknown, failure)
}

/// Executes a gate to its end. Always sends a message, also after a panic.
pub(super) async fn verify(
    parts: Parts,
    channel: Arc<AttemptChannel>,
    request: GateRequest,
    scope: Arc<dyn Scope + Send + Sync>,
    cancel: CancellationToken,
    shutdown: Shutdown,
) {
    let context = Context { cancel, recorder: channel.clone(), shutdown };
    let ended =
        AssertUnwindSafe(parts.executor.verify(request, scope, context)).catch_unwind().await;
    let mut verification =
        ended.unwrap_or_else(|_| inconclusive_gate("internal error in the gate; please report it"));
    let observed = verification.basis.take().map(|basis| {
        let observed = Record::Observed { basis: Payload::Inline(basis) };
        let observed = channel.payloads.store_record(channel.redactor.mask(observed));
        observed.map(|observed| observed.map(Box::new))
    });
    let verification = channel.redactor.mask(verification).map(Box::new);
    let work = channel.work;
    let _ = channel.send(Some(work.instance), observed.transpose(), |observed| Message::Judged {
        work,
        observed,
        verification,
    });
}

/// The result of a gate that could not be executed.
pub(super) fn inconclusive_gate(reason: &str) -> Verification {
    let check = CheckDetail {
        check: "gate".to_owned(),
        verdict: Verdict::Inconclusive,
        warning: false,
        reason: Some(reason.to_owned()),
        evidence: None,
    };
    Verification::of(Confidence::Low, vec![check])
}
