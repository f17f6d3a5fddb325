//! How an attempt that did not end well is reported (000 §12.2, `FailureReport`).

use super::conversation::Conversation;
use super::turn::{DENIALS, GiveUpReason, REPEATS};
use crate::attempt::Outcome;
use crate::diagnostic::Code;
use crate::llm::ModelError;
use crate::value::{Failure, Json, OutcomeKind, format_duration};
use serde_json::json;

/// GiveUpReason an attempt ends without an output.
#[derive(Debug)]
pub(super) enum StopReason {
    /// Its own limits or its own doing.
    GaveUp(GiveUpReason),
    /// The specialist's time ran out.
    TimedOut,
    /// The model gave no answer.
    Model(ModelError),
    /// It was told to stop, or the journal takes no more from it.
    Cancelled,
}

/// The outcome, with what was done kept.
pub(super) fn outcome(end: &StopReason, conversation: &Conversation) -> Outcome {
    let (kind, failure) = match end {
        StopReason::GaveUp(why) => gave_up(*why, conversation),
        StopReason::TimedOut => timed_out(conversation),
        StopReason::Model(error) => (error.outcome(), error.failure()),
        StopReason::Cancelled => cancelled(),
    };
    let details = details(kind, &failure, end, conversation);
    let retry_after = match end {
        StopReason::Model(ModelError::Transient { retry_after, .. }) => *retry_after,
        _ => None,
    };
    let usage = conversation.usage();
    Outcome { retry_after, usage, ..Outcome::failed(kind, failure.details(details)) }
}

fn gave_up(why: GiveUpReason, conversation: &Conversation) -> (OutcomeKind, Failure) {
    let limits = conversation.brief().limits;
    let failure = |code: Code, message: String| Failure::new(code.as_str(), message);
    match why {
        GiveUpReason::Loop => (
            OutcomeKind::Stuck,
            failure(Code::SPECIALIST_LOOP, format!("the specialist made the same call {REPEATS} times with the same result{}", last_tool(conversation)))
                .help("give it the tool or the input that it is missing, or a stronger model"),
        ),
        GiveUpReason::Denied => (
            OutcomeKind::PolicyDenied,
            failure(Code::SPECIALIST_DENIED, format!("{DENIALS} calls in a row were denied{}", last_tool(conversation)))
                .help("add the tool to the specialist's `tools`, or allow the path in the settings"),
        ),
        GiveUpReason::Steps => (
            OutcomeKind::Stuck,
            failure(Code::SPECIALIST_STEP_LIMIT, format!("the specialist used all of its {} steps without handing in an output", limits.max_steps))
                .help("raise `limits.maxSteps` of the specialist, or give it a smaller task"),
        ),
        GiveUpReason::ToolCalls => (
            OutcomeKind::Stuck,
            failure(Code::SPECIALIST_TOOL_CALL_LIMIT, format!("the specialist used all of its {} tool calls without handing in an output", limits.max_tool_calls))
                .help("raise `limits.maxToolCalls` of the specialist, or give it a smaller task"),
        ),
        GiveUpReason::Unfit => (
            OutcomeKind::ValidationFailed,
            failure(Code::SUBMITTED_OUTPUT_INVALID, format!("the output does not fit its schema{}", first_violation(conversation)))
                .help("the details list every violation; loosen `output.schema` or say in the task what is wanted"),
        ),
        GiveUpReason::NeverSubmitted => (
            OutcomeKind::ValidationFailed,
            failure(Code::OUTPUT_MISSING, "the specialist never handed in an output".to_owned())
                .help("the model may be too small for tools; choose a higher tier"),
        ),
    }
}

fn timed_out(conversation: &Conversation) -> (OutcomeKind, Failure) {
    let limit = format_duration(conversation.brief().limits.timeout);
    let failure = Failure::new(
        Code::SPECIALIST_TIMEOUT.as_str(),
        format!("the specialist did not end within {limit}"),
    );
    (OutcomeKind::Timeout, failure.help("raise `limits.timeoutMs` of the specialist"))
}

fn cancelled() -> (OutcomeKind, Failure) {
    let failure = Failure::new(Code::SPECIALIST_CANCELLED.as_str(), "the specialist was stopped");
    (OutcomeKind::Cancelled, failure)
}

fn details(
    kind: OutcomeKind,
    failure: &Failure,
    end: &StopReason,
    conversation: &Conversation,
) -> Json {
    let transcript = conversation.transcript();
    let mut details = json!({
        "kind": kind.to_string(),
        "message": failure.message,
        "lastToolCalls": transcript.last_calls(),
        "suggestedNext": suggested(end),
        "partial": transcript.partial(),
    });
    if let Some(hypothesis) = hypothesis(end) {
        details["hypothesis"] = json!(hypothesis);
    }
    if !transcript.violations().is_empty() {
        details["violations"] = json!(transcript.violations());
    }
    details
}

fn hypothesis(end: &StopReason) -> Option<&'static str> {
    match end {
        StopReason::GaveUp(GiveUpReason::Loop) => {
            Some("the model does not take the result in, or lacks what it needs to go on")
        }
        StopReason::GaveUp(GiveUpReason::Denied) => {
            Some("the task needs a tool or a path that this specialist may not use")
        }
        StopReason::GaveUp(GiveUpReason::Steps | GiveUpReason::ToolCalls) => {
            Some("the task is larger than the limits, or the model goes in circles")
        }
        StopReason::GaveUp(GiveUpReason::Unfit) => Some("the model cannot keep to this schema"),
        StopReason::GaveUp(GiveUpReason::NeverSubmitted) => Some("the model does not call tools"),
        StopReason::TimedOut | StopReason::Model(_) | StopReason::Cancelled => None,
    }
}

/// `RecoveryHint`s of 000 §12.3.
fn suggested(end: &StopReason) -> Json {
    let hint = |action: &str, note: &str| json!({"action": action, "note": note});
    match end {
        StopReason::GaveUp(GiveUpReason::Denied) => {
            json!([hint("ask_user", "allow the tool or the path")])
        }
        StopReason::GaveUp(GiveUpReason::Loop) => json!([
            hint("change_strategy", "say in the task what to do instead"),
            hint("escalate_model", "a stronger model repeats itself less"),
        ]),
        StopReason::GaveUp(_) => {
            json!([hint("escalate_model", "a stronger model may keep to the form")])
        }
        StopReason::TimedOut => json!([hint("retry", "with more time or a smaller task")]),
        StopReason::Model(ModelError::Transient { .. } | ModelError::Timeout { .. }) => {
            json!([hint("retry", "the model may answer later")])
        }
        StopReason::Model(_) => {
            json!([hint("ask_user", "the model cannot be used as it is set up")])
        }
        StopReason::Cancelled => json!([]),
    }
}

fn last_tool(conversation: &Conversation) -> String {
    let last = conversation.transcript().last_calls().last().and_then(|call| call["tool"].as_str());
    last.map(|tool| format!(", the last to `{tool}`")).unwrap_or_default()
}

fn first_violation(conversation: &Conversation) -> String {
    let first = conversation.transcript().violations().first();
    let text = first.map(|v| (v["at"].as_str().unwrap_or(""), v["message"].as_str().unwrap_or("")));
    match text {
        Some(("", message)) => format!(": {message}"),
        Some((at, message)) => format!(": `{at}`: {message}"),
        None => String::new(),
    }
}
