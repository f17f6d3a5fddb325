//! The last line of output of a failed process, for messages.

use crate::process::ProcessResult;
use crate::redaction::Redactor;

/// The last non-blank line of stderr, else of stdout, masked and at most 200 characters long: most
/// programs print the cause of a failure there.
pub(super) fn last_line(redactor: &Redactor, exited: &ProcessResult) -> Option<String> {
    let last = |text: &str| {
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        // Masked before it is shortened; the capture may have shortened it already.
        Some(redactor.mask_cut_text(line).chars().take(200).collect())
    };
    last(&exited.stderr).or_else(|| last(&exited.stdout))
}
