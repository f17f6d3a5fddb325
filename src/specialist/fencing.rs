//! Fenced code blocks.

/// A fenced block that its content cannot close: the fence is longer than any run of backticks in it.
pub(super) fn fenced(language: &str, content: &str) -> String {
    let longest = content.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", content.trim_end_matches('\n'))
}
