//! Workflow commands of GitHub Actions: groups of log lines and annotations.

use super::table::plain;

/// Ends the group that [`group`] began.
pub(super) const END_GROUP: &str = "::endgroup::";

/// Starts a group of lines.
pub(super) fn group(title: &str) -> String {
    format!("::group::{}", data(&plain(title)))
}

/// An annotation about a failed step: a warning if the failure is tolerated, else an error.
pub(super) fn annotation(tolerated: bool, step: &str, message: &str) -> String {
    let kind = if tolerated { "warning" } else { "error" };
    format!("::{kind} title={}::{}", property(&format!("{step} failed")), data(message))
}

/// A line of output without the marker of workflow commands in their first form, which is read
/// anywhere in a line. Commands of the second form start a line, where the name of the step is.
pub(super) fn neutral(line: &str) -> String {
    line.replace("##[", "# #[")
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_end_a_workflow_command() {
        assert_eq!(
            annotation(false, "a[x:y]", "50%\n::stop"),
            "::error title=a[x%3Ay] failed::50%25%0A::stop"
        );
        assert_eq!(neutral("a | ##[set-env]x"), "a | # #[set-env]x");
    }
}
