//! Outcomes of attempts, selectors over them, and failures.

use super::Json;
use crate::diagnostic::Code;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How an attempt ended. Retry policies and recovery tables decide by this kind alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// The attempt succeeded, and its gate passed.
    Ok,
    /// A temporary problem: 429, 5xx, an interrupted stream, a refused connection.
    Transient,
    /// A process had this exit code; 128 + n for signal n.
    Exit(i32),
    /// The attempt exceeded its timeout.
    Timeout,
    /// A tool, request or evaluation failed.
    ToolError,
    /// An output violated its schema.
    ValidationFailed,
    /// A check of the gate failed, or a claim was refuted.
    GateFailed,
    /// The gate was inconclusive, and the policy does not accept that.
    GateInconclusive,
    /// The gate left something unchecked, and the policy does not accept that.
    GateUnchecked,
    /// The specialist repeated the same call or reached a limit.
    Stuck,
    /// A policy denied the request.
    PolicyDenied,
    /// The step was cancelled.
    Cancelled,
    /// Any other failure.
    Unknown,
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
            OutcomeKind::GateUnchecked => "gate_unchecked",
            OutcomeKind::Stuck => "stuck",
            OutcomeKind::PolicyDenied => "policy_denied",
            OutcomeKind::Cancelled => "cancelled",
            OutcomeKind::Unknown => "unknown",
        };
        f.pad(text)
    }
}

/// Selects outcomes in `retry.on` or a recovery table: one kind, any exit code (`exit`), or any
/// failure (`*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeSelector {
    /// Every failure except a cancellation.
    Any,
    /// Any non-zero exit code.
    AnyExit,
    /// Exactly this kind.
    Kind(OutcomeKind),
}

impl OutcomeSelector {
    /// Parses `*`, `exit`, `exit:7`, `transient`, …
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
            "gate_unchecked" => OutcomeSelector::Kind(OutcomeKind::GateUnchecked),
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
    pub const NAMES: [&'static str; 13] = [
        "*",
        "transient",
        "timeout",
        "exit",
        "exit:N",
        "tool_error",
        "validation_failed",
        "gate_failed",
        "gate_inconclusive",
        "gate_unchecked",
        "stuck",
        "policy_denied",
        "unknown",
    ];

    /// Whether the selector matches an outcome. `ok` and `cancelled` never match.
    pub fn matches(self, kind: OutcomeKind) -> bool {
        match self {
            _ if matches!(kind, OutcomeKind::Ok | OutcomeKind::Cancelled) => false,
            OutcomeSelector::Any => true,
            OutcomeSelector::AnyExit => matches!(kind, OutcomeKind::Exit(_)),
            OutcomeSelector::Kind(own) => own == kind,
        }
    }
}

/// Why something failed: a stable code, a message and a fix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// A stable code such as `KB0502`; `kb explain` has a page for it.
    pub code: Code,
    /// The message, a lower-case fragment with literals in backticks.
    pub message: String,
    /// How to fix it, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Details for programs: last tool calls, partial results, violations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Json>>,
}

impl Failure {
    /// A failure with a code and a message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Failure { code, message: message.into(), help: None, details: None }
    }

    /// Adds a sentence about the fix.
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
