/// `1 error`, `2 errors`, for words whose plural is that.
pub fn counted(n: usize, word: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {word}{plural}")
}
