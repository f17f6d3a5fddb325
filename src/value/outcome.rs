use super::Json;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How an attempt ended (LANGUAGE §5). One kind an attempt; recovery decides on it alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// Done, and its gate (if any) let it pass.
    Ok,
    /// The world was not ready: 429, 5xx, a cut stream, a refused connection.
    Transient,
    /// A process ended with this code (128 + n for signal n).
    Exit(i32),
    /// The time for one attempt ran out.
    Timeout,
    /// A tool, request or evaluation failed.
    ToolError,
    /// An output did not fit its schema.
    ValidationFailed,
    /// The gate refuted the work.
    GateFailed,
    /// The gate could not tell, and the policy does not let that pass.
    GateInconclusive,
    /// The specialist repeats itself or ran out of steps.
    Stuck,
    /// A policy forbids what was asked for.
    PolicyDenied,
    /// The step was told to stop.
    Cancelled,
    /// None of the above.
    Unknown,
}

impl OutcomeKind {
    /// The name as people write it; `exit:N` for processes.
    pub fn name(self) -> String {
        self.to_string()
    }
}

impl fmt::Display for OutcomeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            OutcomeKind::Ok => "ok",
            OutcomeKind::Transient => "transient",
            OutcomeKind::Exit(code) => return write!(f, "exit:{code}"),
            OutcomeKind::Timeout => "timeout",
            OutcomeKind::ToolError => "tool_error",
            OutcomeKind::ValidationFailed => "validation_failed",
            OutcomeKind::GateFailed => "gate_failed",
            OutcomeKind::GateInconclusive => "gate_inconclusive",
            OutcomeKind::Stuck => "stuck",
            OutcomeKind::PolicyDenied => "policy_denied",
            OutcomeKind::Cancelled => "cancelled",
            OutcomeKind::Unknown => "unknown",
        };
        f.pad(text)
    }
}

/// What a recovery row or `retry.on` matches: a kind, any exit code (`exit`), or everything (`*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeSelector {
    /// Every failure but a cancellation.
    Any,
    /// A process that ended with any code but 0.
    AnyExit,
    /// Exactly this kind.
    Kind(OutcomeKind),
}

impl OutcomeSelector {
    /// Reads `*`, `exit`, `exit:7`, `transient`, …
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "*" => OutcomeSelector::Any,
            "exit" => OutcomeSelector::AnyExit,
            "transient" => OutcomeSelector::Kind(OutcomeKind::Transient),
            "timeout" => OutcomeSelector::Kind(OutcomeKind::Timeout),
            "tool_error" => OutcomeSelector::Kind(OutcomeKind::ToolError),
            "validation_failed" => OutcomeSelector::Kind(OutcomeKind::ValidationFailed),
            "gate_failed" => OutcomeSelector::Kind(OutcomeKind::GateFailed),
            "gate_inconclusive" => OutcomeSelector::Kind(OutcomeKind::GateInconclusive),
            "stuck" => OutcomeSelector::Kind(OutcomeKind::Stuck),
            "policy_denied" => OutcomeSelector::Kind(OutcomeKind::PolicyDenied),
            "unknown" => OutcomeSelector::Kind(OutcomeKind::Unknown),
            other => {
                let code = other.strip_prefix("exit:")?.parse().ok()?;
                OutcomeSelector::Kind(OutcomeKind::Exit(code))
            }
        })
    }

    /// The names that [`OutcomeSelector::parse`] reads, for messages.
    pub const NAMES: [&'static str; 12] = [
        "*",
        "transient",
        "timeout",
        "exit",
        "exit:N",
        "tool_error",
        "validation_failed",
        "gate_failed",
        "gate_inconclusive",
        "stuck",
        "policy_denied",
        "unknown",
    ];

    /// Whether this row speaks of that kind. `ok` and `cancelled` are never matched.
    pub fn matches(self, kind: OutcomeKind) -> bool {
        match self {
            _ if matches!(kind, OutcomeKind::Ok | OutcomeKind::Cancelled) => false,
            OutcomeSelector::Any => true,
            OutcomeSelector::AnyExit => matches!(kind, OutcomeKind::Exit(_)),
            OutcomeSelector::Kind(own) => own == kind,
        }
    }
}

/// Why something did not work, for people and programs: a stable code, what, and the mend.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// A stable code such as `KB0502`; `kb explain` has a page for it.
    pub code: String,
    /// What is wrong, a lower-case fragment with literals in backticks.
    pub message: String,
    /// The mend, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// More for programs: last tool calls, partial results, violations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Json>>,
}

impl Failure {
    /// A failure with a code and a message.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Failure { code: code.into(), message: message.into(), help: None, details: None }
    }

    /// Adds the mend.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds details for programs.
    #[must_use]
    pub fn details(mut self, details: Json) -> Self {
        self.details = Some(Box::new(details));
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.message, self.code)
    }
}
