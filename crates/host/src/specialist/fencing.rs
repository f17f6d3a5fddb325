//! Fenced code blocks, which keep content apart from instructions: a file cannot end its block. What a
//! model does after a prompt injection is restricted by tools and sandbox, not here.

/// A fenced block that its content cannot close: the fence is longer than any run of backticks in it.
pub(super) fn fenced(language: &str, content: &str) -> String {
    let longest = content.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", content.trim_end_matches('\n'))
}
