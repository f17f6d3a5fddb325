//! The failure report of an attempt that ended without an output: message, help, partial results,
//! the hypothesis of the model and suggested next steps.

use super::account::Exhausted;
use super::conversation::Conversation;
use super::cut_off;
use super::excerpt::first_line;
use super::transcript::Response;
use super::turn::{DENIALS, GiveUpReason, REPAIRS, REPEATS};
use crate::llm::ModelError;
use kb_attempt::Outcome;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, HintAction, Json, OutcomeKind, RecoveryHint, Tier, format_duration};
use kb_core::evidence::ApprovalRequest;
use kb_language::definition::Specialist;
use serde_json::json;

/// The reason why an attempt ends without an output.
#[derive(Debug)]
pub(super) enum StopReason {
    /// A limit of the loop was reached.
    GaveUp(GiveUpReason),
    /// A command changed protected paths, which later steps may execute.
    ProtectedPathsChanged(Failure),
    /// The timeout of the specialist expired.
    TimedOut,
    /// The coding agent could not start or work.
    Agent(OutcomeKind, Failure),
    /// The model call failed.
    Model(ModelError),
    /// A tool call requires the approval of a person.
    Asks(Box<ApprovalRequest>),
    /// A budget is used up.
    Budget(Exhausted),
    /// The cost is limited, and the price of this model is unknown.
    Unpriced(String),
    /// The attempt was cancelled, or the lease on the run was lost.
    Cancelled,
}

/// The outcome, with the partial results in its details. `sent` is the limit of a response that the last
/// request had.
pub(super) fn outcome(
    reason: &StopReason,
    conversation: &Conversation,
    specialist: &Specialist,
    sent: Option<u32>,
) -> Outcome {
    let (kind, failure) = match reason {
        StopReason::GaveUp(limit) => match cut(*limit, conversation) {
            Some(cut) => {
                let limit = cut_off::Limit::Specialist(specialist, sent);
                (OutcomeKind::ValidationFailed, cut_off::failure(cut, limit))
            }
            None => gave_up(*limit, conversation, specialist),
        },
        StopReason::ProtectedPathsChanged(failure) => (OutcomeKind::PolicyDenied, failure.clone()),
        StopReason::Agent(kind, failure) => (*kind, failure.clone()),
        StopReason::TimedOut => timed_out(conversation),
        StopReason::Model(error) => {
            let failure = error.failure();
            let message = match repair(conversation) {
                Some(repair) => format!("{} ({repair})", failure.message),
                None => failure.message.clone(),
            };
            (error.outcome(), Failure { message, ..failure })
        }
        StopReason::Budget(error) => (
            OutcomeKind::PolicyDenied,
            Failure::new(Code::BUDGET_EXHAUSTED, error.to_string())
                .help("continue with a higher limit: `kb run resume RUN` with `--budget USD`, `--max-tokens N` or `--max-tool-calls N`"),
        ),
        StopReason::Unpriced(model) => (
            OutcomeKind::PolicyDenied,
            Failure::new(
                Code::MODEL_WITHOUT_PRICE,
                format!("the cost is limited, and the price of the model `{model}` is unknown"),
            )
            .help("set its price in `llm.prices` of the settings, or limit `maxTokens` instead"),
        ),
        StopReason::Asks(request) => return Outcome::asking((**request).clone()),
        StopReason::Cancelled => cancelled(),
    };
    let details = details(kind, &failure, reason, conversation);
    let retry_after = match reason {
        StopReason::Model(ModelError::Transient { retry_after, .. }) => *retry_after,
        _ => None,
    };
    let usage = conversation.usage();
    let handoff = conversation.refused_handoff().map(Box::new);
    Outcome { retry_after, usage, handoff, ..Outcome::failed(kind, failure.details(details)) }
}

/// The last response, if it was cut off and the attempt ended because of it. What the model said before does
/// not explain it.
fn cut(reason: GiveUpReason, conversation: &Conversation) -> Option<&Response> {
    match reason {
        GiveUpReason::InvalidOutput
        | GiveUpReason::NeverSubmitted
        | GiveUpReason::CutOff
        | GiveUpReason::Steps => {}
        GiveUpReason::Loop | GiveUpReason::Denied | GiveUpReason::ToolCalls => return None,
    }
    conversation.transcript().response().filter(|response| response.cut)
}

/// What to try if a model does not manage to submit an output.
fn advice(conversation: &Conversation, specialist: &Specialist) -> String {
    if specialist.agent.is_some() {
        return "choose another `model` of the agent".to_owned();
    }
    let response = conversation.transcript().response();
    let model = response.map_or("of the specialist", |response| &response.model);
    let choice = &specialist.model;
    let tier = match (&choice.model, choice.tier) {
        (None, Tier::Small | Tier::Medium) => {
            format!("choose a larger tier than `{}` or a larger model than `{model}`", choice.tier)
        }
        (Some(_), _) | (None, Tier::Large) => format!("choose a larger model than `{model}`"),
    };
    let tokens = match choice.max_tokens {
        Some(limit) => format!("raise `maxTokens` from {limit}"),
        None => "set a higher `maxTokens`".to_owned(),
    };
    format!(
        "{tier}; {tokens} if its reasoning uses them up; for a model that cannot call tools, ask in \
         `role` for one JSON object with the keys of the output as the whole response"
    )
}

/// The last text of the model, shortened.
fn last_words(conversation: &Conversation) -> String {
    let partial = conversation.transcript().partial();
    match partial["text"].as_str() {
        Some(text) => format!("; it said last: \"{}\"", first_line(text.trim(), 160)),
        None => "; its last response had no text".to_owned(),
    }
}

fn gave_up(
    reason: GiveUpReason,
    conversation: &Conversation,
    specialist: &Specialist,
) -> (OutcomeKind, Failure) {
    let limits = conversation.brief().limits;
    let failure = |code: Code, message: String| Failure::new(code, message);
    match reason {
        GiveUpReason::Loop => (
            OutcomeKind::Stuck,
            failure(Code::SPECIALIST_LOOP, format!("the specialist made the same call {REPEATS} times with the same result{}", last_tool(conversation)))
                .help("give the specialist the tool or input that it lacks, or a larger model"),
        ),
        GiveUpReason::Denied => (
            OutcomeKind::PolicyDenied,
            failure(Code::SPECIALIST_DENIED, format!("{DENIALS} calls in a row were denied{}", last_tool(conversation)))
                .help("add the tool to `tools` of the specialist, or allow the path in the settings"),
        ),
        GiveUpReason::Steps => (
            OutcomeKind::Stuck,
            failure(Code::SPECIALIST_STEP_LIMIT, format!("the specialist reached its limit of {} steps without submitting an output", limits.max_steps))
                .help("raise `limits.maxSteps` of the specialist, or make the task smaller"),
        ),
        GiveUpReason::ToolCalls => (
            OutcomeKind::Stuck,
            failure(Code::SPECIALIST_TOOL_CALL_LIMIT, format!("the specialist reached its limit of {} tool calls without submitting an output", limits.max_tool_calls))
                .help("raise `limits.maxToolCalls` of the specialist, or make the task smaller"),
        ),
        GiveUpReason::InvalidOutput => (
            OutcomeKind::ValidationFailed,
            failure(Code::SUBMITTED_OUTPUT_INVALID, format!("the output does not match its schema{}", first_violation(conversation)))
                .help(format!("the details list every violation; state the expected output in the task, relax `output.schema`, or {}", advice(conversation, specialist))),
        ),
        GiveUpReason::NeverSubmitted | GiveUpReason::CutOff => (
            OutcomeKind::ValidationFailed,
            failure(Code::OUTPUT_MISSING, format!("the specialist never submitted an output{}{}", missing(conversation), last_words(conversation)))
                .help(advice(conversation, specialist)),
        ),
    }
}

fn timed_out(conversation: &Conversation) -> (OutcomeKind, Failure) {
    let limit = format_duration(conversation.brief().limits.timeout);
    let failure = Failure::new(
        Code::SPECIALIST_TIMEOUT,
        format!("the specialist did not finish within {limit}"),
    );
    (
        OutcomeKind::Timeout,
        failure.help("raise `limits.timeout` of the specialist, or choose a faster model"),
    )
}

fn cancelled() -> (OutcomeKind, Failure) {
    let failure = Failure::new(Code::SPECIALIST_CANCELLED, "the specialist was cancelled");
    (OutcomeKind::Cancelled, failure)
}

fn details(
    kind: OutcomeKind,
    failure: &Failure,
    reason: &StopReason,
    conversation: &Conversation,
) -> Json {
    let transcript = conversation.transcript();
    let mut details = json!({
        "kind": kind.to_string(),
        "message": failure.message,
        "lastToolCalls": transcript.last_calls(),
        "suggestedNext": suggested(reason),
        "partial": transcript.partial(),
    });
    if let Some(hypothesis) = transcript.hypothesis() {
        details["hypothesis"] = json!(hypothesis);
    }
    if !transcript.violations().is_empty() {
        details["violations"] = json!(transcript.violations());
    }
    details
}

/// Suggested next steps: recovery actions with a note.
fn suggested(reason: &StopReason) -> Vec<RecoveryHint> {
    use HintAction::{AskUser, ChangeStrategy, EscalateModel, Retry, SwitchSpecialist};
    let notes: &[(HintAction, &str)] = match reason {
        StopReason::GaveUp(GiveUpReason::Denied) => &[
            (AskUser, "allow the tool or the path"),
            (SwitchSpecialist, "another specialist may have the tool that the task needs"),
        ],
        StopReason::GaveUp(GiveUpReason::Loop) => &[
            (ChangeStrategy, "state in the task what to do instead"),
            (EscalateModel, "a larger model repeats itself less"),
        ],
        StopReason::GaveUp(GiveUpReason::CutOff) => &[
            (ChangeStrategy, "ask for less at a time, or allow longer responses"),
            (EscalateModel, "a larger model may need fewer words"),
        ],
        StopReason::GaveUp(_) => &[(EscalateModel, "a larger model may follow the output schema")],
        StopReason::TimedOut => &[
            (Retry, "with more time or a smaller task"),
            (EscalateModel, "a larger model may need fewer turns"),
        ],
        StopReason::Model(
            ModelError::Unreachable { .. }
            | ModelError::Transient { .. }
            | ModelError::Timeout { .. },
        ) => &[(Retry, "the model may respond later")],
        StopReason::Model(_) => {
            &[(AskUser, "the model cannot be used with the current configuration")]
        }
        StopReason::ProtectedPathsChanged(_) => {
            &[(AskUser, "check the changed paths and undo the change")]
        }
        StopReason::Agent(..) => &[(AskUser, "check how the agent is set up")],
        StopReason::Budget(_) => &[(AskUser, "raise the budget")],
        StopReason::Unpriced(_) => &[(AskUser, "set the price of the model")],
        StopReason::Asks(_) | StopReason::Cancelled => &[],
    };
    notes.iter().map(|(action, note)| RecoveryHint::new(*action, *note)).collect()
}

/// The keys that the output needed.
fn missing(conversation: &Conversation) -> String {
    let schema = conversation.brief().submission.schema();
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let keys: Vec<String> =
        required.iter().filter_map(Json::as_str).map(|key| format!("`{key}`")).collect();
    if keys.is_empty() { String::new() } else { format!(" with {}", keys.join(", ")) }
}

fn last_tool(conversation: &Conversation) -> String {
    let last = conversation.transcript().last_calls().last().and_then(|call| call["tool"].as_str());
    last.map(|tool| format!(", the last to `{tool}`")).unwrap_or_default()
}

/// What the next call is to repair: which repair it is and why. `None`: the last answer needs none.
pub(super) fn repair(conversation: &Conversation) -> Option<String> {
    let state = conversation.state();
    let number = state.invalid + state.silent;
    let last = conversation.transcript().response();
    let what = match state.invalid {
        _ if number == 0 => return None,
        _ if last.is_some_and(|response| response.cut) => {
            "the response was cut off at its length limit".to_owned()
        }
        0 => "no output was submitted".to_owned(),
        _ => format!("the output does not match its schema{}", first_violation(conversation)),
    };
    Some(format!("repair {number} of {REPAIRS}: {what}"))
}

/// The first violation of the last output, as an addition to a message.
fn first_violation(conversation: &Conversation) -> String {
    let first = conversation.transcript().violations().first();
    let text = first.map(|v| (v["at"].as_str().unwrap_or(""), v["message"].as_str().unwrap_or("")));
    match text {
        Some(("", message)) => format!(": {message}"),
        Some((at, message)) => format!(": `{at}`: {message}"),
        None => String::new(),
    }
}
