//! What a check of `kb doctor` found.

use serde::Serialize;

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingLevel {
    /// Nothing to fix.
    Ok,
    /// It works with restrictions.
    Warning,
    /// It does not work.
    Error,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Severity of the result.
    pub level: FindingLevel,
    /// Name of the check.
    pub subject: &'static str,
    /// Description of the result.
    pub message: String,
    /// The fix, for a warning or an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Finding {
    pub(super) fn new(
        level: FindingLevel,
        subject: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Finding { level, subject, message: message.into(), help: None }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
