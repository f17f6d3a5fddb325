//! Counted nouns for messages.

/// `1 error`, `2 errors`: a number and a noun whose plural ends with `s`.
pub fn counted(n: usize, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {noun}{plural}")
}
