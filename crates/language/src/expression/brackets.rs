//! The ends of placeholders and quoted strings.

/// The offset of the `}}` that closes a placeholder whose content starts at `from`. Balanced quotes and
/// inner brackets are skipped.
pub(super) fn close(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (from, 0usize);
    while at < bytes.len() {
        match bytes[at] {
            b'\'' | b'"' => match end_of_quotes(text, at) {
                Some(end) => at = end - 1,
                None => break,
            },
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'}' if depth == 0 && bytes.get(at + 1) == Some(&b'}') => return Some(at),
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    text[from..].find("}}").map(|i| from + i)
}

/// The offset after the closing quote of a string that starts at `open`; `None` if it is not closed.
pub(super) fn end_of_quotes(text: &str, open: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = bytes[open];
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            byte if byte == quote => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}
