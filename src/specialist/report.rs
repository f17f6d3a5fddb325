//! How an attempt that did not end well is reported (000 §12.2, `FailureReport`).

use super::conversation::Conversation;
use super::turn::{DENIALS, REPEATS, Why};
use crate::attempt::Outcome;
use crate::diagnostic::Code;
use crate::llm::ModelError;
use crate::value::{Failure, Json, OutcomeKind, format_duration};
use serde_json::json;

/// Why an attempt ends without an output.
#[derive(Debug)]
pub(super) enum End {
    /// Its own limits or its own doing.
    GaveUp(Why),
    /// The specialist's time ran out.
    TimedOut,
    /// The model gave no answer.
    Model(ModelError),
    /// It was told to stop, or the journal takes no more from it.
    Cancelled,
}

/// The outcome, with what was done kept.
pub(super) fn outcome(end: &End, conversation: &Conversation) -> Outcome {
    let (kind, failure) = match end {
        End::GaveUp(why) => gave_up(*why, conversation),
        End::TimedOut => timed_out(conversation),
        End::Model(error) => (error.outcome(), error.failure()),
        End::Cancelled => cancelled(),
    };
    let details = details(kind, &failure, end, conversation);
    let retry_after = match end {
        End::Model(ModelError::Transient { retry_after, .. }) => *retry_after,
        _ => None,
    };
    let usage = conversation.usage();
    Outcome { retry_after, usage, ..Outcome::failed(kind, failure.details(details)) }
}

fn gave_up(why: Why, conversation: &Conversation) -> (OutcomeKind, Failure) {
    let limits = conversation.brief().limits;
    let failure = |code: Code, message: String| Failure::new(code.as_str(), message);
    match why {
        Why::Loop => (
            OutcomeKind::Stuck,
            failure(Code::SPECIALIST_LOOP, format!("the specialist made the same call {REPEATS} times with the same result{}", last_tool(conversation)))
                .help("give it the tool or the input that it is missing, or a stronger model"),
        ),
        Why::Denied => (
            OutcomeKind::PolicyDenied,
            failure(Code::SPECIALIST_DENIED, format!("{DENIALS} calls in a row were denied{}", last_tool(conversation)))
                .help("add the tool to the specialist's `tools`, or allow the path in the settings"),
        ),
        Why::Steps => (
            OutcomeKind::Stuck,
            failure(Code::SPECIALIST_STEPS, format!("the specialist used all of its {} steps without handing in an output", limits.max_steps))
                .help("raise `limits.maxSteps` of the specialist, or give it a smaller task"),
        ),
        Why::ToolCalls => (
            OutcomeKind::Stuck,
            failure(Code::SPECIALIST_TOOL_CALLS, format!("the specialist used all of its {} tool calls without handing in an output", limits.max_tool_calls))
                .help("raise `limits.maxToolCalls` of the specialist, or give it a smaller task"),
        ),
        Why::Unfit => (
            OutcomeKind::ValidationFailed,
            failure(Code::OUTPUT_UNFIT, format!("the output does not fit its schema{}", first_violation(conversation)))
                .help("the details list every violation; loosen `output.schema` or say in the task what is wanted"),
        ),
        Why::NeverSubmitted => (
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

fn details(kind: OutcomeKind, failure: &Failure, end: &End, conversation: &Conversation) -> Json {
    let trail = conversation.trail();
    let mut details = json!({
        "kind": kind.to_string(),
        "message": failure.message,
        "lastToolCalls": trail.last_calls(),
        "suggestedNext": suggested(end),
        "partial": trail.partial(),
    });
    if let Some(hypothesis) = hypothesis(end) {
        details["hypothesis"] = json!(hypothesis);
    }
    if !trail.violations().is_empty() {
        details["violations"] = json!(trail.violations());
    }
    details
}

fn hypothesis(end: &End) -> Option<&'static str> {
    match end {
        End::GaveUp(Why::Loop) => {
            Some("the model does not take the result in, or lacks what it needs to go on")
        }
        End::GaveUp(Why::Denied) => {
            Some("the task needs a tool or a path that this specialist may not use")
        }
        End::GaveUp(Why::Steps | Why::ToolCalls) => {
            Some("the task is larger than the limits, or the model goes in circles")
        }
        End::GaveUp(Why::Unfit) => Some("the model cannot keep to this schema"),
        End::GaveUp(Why::NeverSubmitted) => Some("the model does not call tools"),
        End::TimedOut | End::Model(_) | End::Cancelled => None,
    }
}

/// `RecoveryHint`s of 000 §12.3.
fn suggested(end: &End) -> Json {
    let hint = |action: &str, note: &str| json!({"action": action, "note": note});
    match end {
        End::GaveUp(Why::Denied) => json!([hint("ask_user", "allow the tool or the path")]),
        End::GaveUp(Why::Loop) => json!([
            hint("change_strategy", "say in the task what to do instead"),
            hint("escalate_model", "a stronger model repeats itself less"),
        ]),
        End::GaveUp(_) => json!([hint("escalate_model", "a stronger model may keep to the form")]),
        End::TimedOut => json!([hint("retry", "with more time or a smaller task")]),
        End::Model(ModelError::Transient { .. } | ModelError::Timeout { .. }) => {
            json!([hint("retry", "the model may answer later")])
        }
        End::Model(_) => json!([hint("ask_user", "the model cannot be used as it is set up")]),
        End::Cancelled => json!([]),
    }
}

fn last_tool(conversation: &Conversation) -> String {
    let last = conversation.trail().last_calls().last().and_then(|call| call["tool"].as_str());
    last.map(|tool| format!(", the last to `{tool}`")).unwrap_or_default()
}

fn first_violation(conversation: &Conversation) -> String {
    let first = conversation.trail().violations().first();
    let text = first.map(|v| (v["at"].as_str().unwrap_or(""), v["message"].as_str().unwrap_or("")));
    match text {
        Some(("", message)) => format!(": {message}"),
        Some((at, message)) => format!(": `{at}`: {message}"),
        None => String::new(),
    }
}
