//! What runs beside the dispatcher: attempts and gates, each a task that answers with messages.

use super::event_channel::EventSender;
use super::fetching::Fetched;
use super::payloads::Payloads;
use super::prompts::PromptLog;
use super::setup::{Parts, Update};
use crate::attempt::{Context, Outcome, Progress, Recorder, Request, StepWork, Stopped};
use crate::definition::Step;
use crate::diagnostic::Code;
use crate::evidence::{CheckDetail, Confidence, Payload, Record, Verdict, Verification};
use crate::executor::GateRequest;
use crate::expression::Scope;
use crate::redaction::{Redactor, StreamMasker};
use crate::run::{AttemptReport, Effect, InstanceIx};
use crate::value::{Failure, InstanceKey, Json, OutcomeKind};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// What tasks tell the dispatcher.
pub(super) enum Message {
    /// To be stored before the attempt goes on.
    Record {
        instance: InstanceIx,
        iteration: u32,
        attempt: u32,
        record: Box<Record>,
        stored: oneshot::Sender<Result<(), Stopped>>,
    },
    /// The attempt is over.
    Ended { instance: InstanceIx, iteration: u32, attempt: u32, report: Box<AttemptReport> },
    /// The gate has spoken, from what was observed.
    Judged {
        instance: InstanceIx,
        iteration: u32,
        attempt: u32,
        observed: Option<Box<Record>>,
        verification: Box<Verification>,
    },
    /// The secrets of an effect are at hand, or cannot be had.
    Fetched { instance: InstanceIx, attempt: u32, effect: Box<Effect>, fetched: Fetched },
    /// The journal's blobs cannot be written; which attempt has ended with that, if one has.
    Broken { ended: Option<InstanceIx>, error: crate::journal::JournalError },
}

/// The way from one attempt to the dispatcher and to whoever watches.
pub(super) struct AttemptChannel {
    pub(super) instance: InstanceIx,
    pub(super) iteration: u32,
    pub(super) attempt: u32,
    pub(super) key: InstanceKey,
    pub(super) step: Arc<Step>,
    pub(super) messages: UnboundedSender<Message>,
    pub(super) updates: Option<EventSender>,
    pub(super) payloads: Payloads,
    pub(super) redactor: Arc<Redactor>,
    pub(super) tokens: Mutex<StreamMasker>,
    pub(super) heard: Mutex<Instant>,
    pub(super) prompts: PromptLog,
}

impl AttemptChannel {
    fn masked(&self, record: Record) -> Record {
        masked(self.prompts.keep(record, &self.redactor), &self.redactor)
    }

    /// Notes that the attempt gave a sign of life.
    fn hear(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Ends once nothing was heard for this long; never without a bound.
    async fn silent_for(&self, idle: Option<Duration>) {
        let Some(idle) = idle else { return std::future::pending().await };
        loop {
            let until = *self.heard.lock().unwrap_or_else(PoisonError::into_inner) + idle;
            if until <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }
}

impl Recorder for AttemptChannel {
    fn record(&self, record: Record) -> BoxFuture<'_, Result<(), Stopped>> {
        self.hear();
        async move {
            let record = match self.payloads.store_record(self.masked(record)) {
                Ok(record) => record,
                Err(error) => {
                    let _ = self.messages.send(Message::Broken { ended: None, error });
                    return Err(Stopped);
                }
            };
            let (stored, answer) = oneshot::channel();
            let (instance, iteration, attempt) = (self.instance, self.iteration, self.attempt);
            self.messages
                .send(Message::Record {
                    instance,
                    iteration,
                    attempt,
                    record: Box::new(record),
                    stored,
                })
                .map_err(|_| Stopped)?;
            answer.await.unwrap_or(Err(Stopped))
        }
        .boxed()
    }

    fn progress(&self, progress: Progress) {
        self.hear();
        if let Some(updates) = &self.updates {
            let progress = match progress {
                Progress::Output(line) => {
                    // A line that is too long to be shown comes without its end.
                    Progress::Output(self.redactor.mask_cut_text(&line).to_string())
                }
                Progress::Tool(call) => Progress::Tool(self.redactor.mask_text(&call).to_string()),
                // A secret may be split over tokens, so they are masked as one stream.
                Progress::Token(text) => {
                    let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
                    Progress::Token(tokens.push(&text))
                }
                Progress::Model(model) => {
                    // What the model before it ended with.
                    let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
                    let rest = tokens.flush();
                    if !rest.is_empty() {
                        let (instance, progress) = (self.key.clone(), Progress::Token(rest));
                        updates.progress(Update::Progress { instance, progress });
                    }
                    Progress::Model(model)
                }
            };
            updates.progress(Update::Progress { instance: self.key.clone(), progress });
        }
    }
}

fn masked(record: Record, redactor: &Redactor) -> Record {
    let mask = |payload: Payload| match payload {
        Payload::Inline(value) => Payload::inline(redactor.mask_json(&value)),
        blob => blob,
    };
    let mut record = record;
    match &mut record {
        Record::ModelCall { text, calls, model, .. } => {
            *text = mask(text.clone());
            *model = redactor.mask_text(model).to_string();
            for call in calls {
                call.id = redactor.mask_text(&call.id).to_string();
                call.args = redactor.mask_json(&call.args);
                call.tool = redactor.mask_text(&call.tool).to_string();
            }
        }
        Record::ToolCall { args, tool, .. } => {
            *args = mask(args.clone());
            *tool = redactor.mask_text(tool).to_string();
        }
        Record::ToolResult { result, invocation, .. } => {
            *result = mask(result.clone());
            invocation.args = redactor.mask_json(&invocation.args);
            invocation.process = invocation.process.take().map(|p| redactor.masked(p));
            // A process of the author's may put a secret into the name of a file.
            for change in &mut invocation.changes {
                change.path = redactor.mask_text(&change.path).into_owned();
                change.diff = change.diff.take().map(|diff| redactor.mask_text(&diff).into_owned());
            }
        }
        Record::Observed { basis } => *basis = mask(basis.clone()),
        Record::Compression { summary: text, .. } | Record::Note { text } => {
            *text = redactor.mask_text(text).to_string();
        }
    }
    record
}

/// Runs one attempt to its end, whatever happens in it.
pub(super) async fn run(
    parts: Parts,
    line: Arc<AttemptChannel>,
    request: Request,
    cancel: CancellationToken,
) {
    // A process's silence is watched where its pipes are read.
    let is_process = matches!(request.work, StepWork::Run { .. });
    let (timeout, idle) = (request.timeout, request.idle.filter(|_| !is_process));
    let context = Context { cancel: cancel.clone(), recorder: line.clone() };
    let work = AssertUnwindSafe(parts.executor.execute(request, context)).catch_unwind();
    tokio::pin!(work);
    let mut late = None;
    let ended = tokio::select! {
        ended = &mut work => ended,
        () = expired(timeout) => {
            late = Some("took longer than");
            cancel.cancel();
            work.await
        }
        () = line.silent_for(idle) => {
            late = Some("was silent for more than");
            cancel.cancel();
            work.await
        }
    };
    let mut outcome = ended.unwrap_or_else(|panic| panicked(&*panic));
    if let Some(how) = late.filter(|_| outcome.kind != OutcomeKind::Ok) {
        let limit = if how.starts_with("took") { timeout } else { idle };
        outcome = timed_out(outcome, how, limit);
    }
    let outcome = super::prepare::fits(&line.step, outcome, &line.redactor);
    let report = line.payloads.store_report(report(outcome, &line.redactor));
    let (instance, iteration, attempt) = (line.instance, line.iteration, line.attempt);
    let message = match report {
        Ok(report) => Message::Ended { instance, iteration, attempt, report: Box::new(report) },
        Err(error) => Message::Broken { ended: Some(instance), error },
    };
    let _ = line.messages.send(message);
}

pub(super) async fn expired(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
        None => std::future::pending().await,
    }
}

fn timed_out(outcome: Outcome, how: &str, timeout: Option<Duration>) -> Outcome {
    let mut failure = too_late(how, timeout);
    failure.details = outcome.failure.and_then(|f| f.details);
    Outcome { kind: OutcomeKind::Timeout, failure: Some(failure), ..outcome }
}

pub(super) fn too_late(how: &str, timeout: Option<Duration>) -> Failure {
    let limit = timeout.map(crate::value::format_duration).unwrap_or_default();
    Failure::new(Code::TIMED_OUT.as_str(), format!("the attempt {how} {limit}"))
        .help("raise `timeout`, or split the step")
}

/// The failure of an attempt that was told to stop before it did anything.
pub(super) fn cancelled() -> Failure {
    Failure::new(Code::ATTEMPT_FAILED.as_str(), "cancelled")
}

/// A panic is a defect of ours; it fails the step, never the run's holder.
fn panicked(panic: &(dyn std::any::Any + Send)) -> Outcome {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    let failure =
        Failure::new(Code::INTERNAL_ERROR.as_str(), format!("`kb` has a defect here: {text}"))
            .help("please report it with the run's events: `kb run events RUN`");
    Outcome::failed(OutcomeKind::Unknown, failure)
}

/// What the heart is told of an outcome, masked.
pub(super) fn report(outcome: Outcome, redactor: &Redactor) -> AttemptReport {
    let process =
        outcome.exit_code.is_some() || outcome.stdout.is_some() || outcome.stderr.is_some();
    let streams = process.then(|| {
        let text = |text: &Option<String>, cut: u64| {
            text.as_deref().map(|text| cut_or_whole(redactor, text, cut))
        };
        let mut streams = json!({
            "exitCode": outcome.exit_code,
            "stdout": text(&outcome.stdout, outcome.cut[0]),
            "stderr": text(&outcome.stderr, outcome.cut[1]),
        });
        for (name, bytes) in ["stdoutCut", "stderrCut"].into_iter().zip(outcome.cut) {
            if bytes > 0 {
                streams[name] = json!(bytes);
            }
        }
        if let Some(process) = outcome.process {
            streams["process"] = redactor.masked(process);
        }
        Payload::inline(streams)
    });
    let failure = outcome.failure.map(|failure| masked_failure(failure, redactor));
    let output = outcome.output.map(|output: Json| match &output {
        // What a process wrote to stdout, which may end in the middle of a secret.
        Json::String(text) => Json::from(cut_or_whole(redactor, text, outcome.cut[0])),
        _ => redactor.masked(output),
    });
    AttemptReport {
        outcome: outcome.kind,
        output: output.map(Payload::inline),
        streams,
        failure,
        retry_after_ms: outcome.retry_after.map(|d| d.as_millis() as u64),
        usage: outcome.usage,
    }
}

fn cut_or_whole(redactor: &Redactor, text: &str, cut: u64) -> String {
    match cut {
        0 => redactor.mask_text(text).into_owned(),
        _ => redactor.mask_cut_text(text).into_owned(),
    }
}

/// Lets a gate look, and answers even if it breaks.
pub(super) async fn verify(
    parts: Parts,
    line: Arc<AttemptChannel>,
    request: GateRequest,
    scope: Arc<dyn Scope + Send + Sync>,
    cancel: CancellationToken,
) {
    let looked =
        AssertUnwindSafe(parts.executor.verify(request, scope, cancel)).catch_unwind().await;
    let mut verification =
        looked.unwrap_or_else(|_| broken_gate("the gate itself broke; please report it"));
    let observed = verification.basis.take().map(|basis| {
        let observed = Record::Observed { basis: Payload::Inline(basis) };
        line.payloads.store_record(masked(observed, &line.redactor)).map(Box::new)
    });
    let verification = Box::new(masked_verification(verification, &line.redactor));
    let (instance, iteration, attempt) = (line.instance, line.iteration, line.attempt);
    let message = match observed.transpose() {
        Ok(observed) => Message::Judged { instance, iteration, attempt, observed, verification },
        Err(error) => Message::Broken { ended: Some(instance), error },
    };
    let _ = line.messages.send(message);
}

/// The same failure without the values of secrets.
pub(super) fn masked_failure(failure: Failure, redactor: &Redactor) -> Failure {
    let mask = |text: String| redactor.mask_text(&text).to_string();
    Failure {
        code: failure.code,
        message: mask(failure.message),
        help: failure.help.map(mask),
        details: failure.details.map(|details| Box::new(redactor.masked(*details))),
    }
}

fn masked_verification(verification: Verification, redactor: &Redactor) -> Verification {
    let mask = |text: String| redactor.mask_text(&text).to_string();
    let checks = verification.checks.into_iter().map(|check| CheckDetail {
        check: mask(check.check),
        verdict: check.verdict,
        reason: check.reason.map(mask),
        evidence: check.evidence.map(|evidence| redactor.mask_json(&evidence)),
    });
    Verification { reason: verification.reason.map(mask), checks: checks.collect(), ..verification }
}

/// A gate that could not look proves nothing.
pub(super) fn broken_gate(reason: &str) -> Verification {
    let check = CheckDetail {
        check: "gate".to_owned(),
        verdict: Verdict::Inconclusive,
        reason: Some(reason.to_owned()),
        evidence: None,
    };
    Verification::of(Confidence::Low, vec![check])
}
