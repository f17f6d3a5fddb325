//! The approximation of a tokenizer with which prompts are kept within their limits.
//!
//! Every model counts in its own way. The estimate is four bytes of UTF-8 per token, rounded up: close for
//! English text and code, and too many rather than too few for most other scripts.

/// Bytes of text that count as one token.
pub const BYTES_PER_TOKEN: usize = 4;

/// The estimated number of tokens of a text.
pub fn estimated_tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

/// The text in one line, cut to this many estimated tokens. A cut text ends with `…`.
pub fn cut_to_tokens(text: &str, tokens: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut_to_bytes(line, tokens * BYTES_PER_TOKEN)
}

/// The text in one line, cut to this many characters. A cut text ends with `…`.
pub fn cut_to_chars(text: &str, chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars) {
        None => line,
        Some(_) => line.chars().take(chars.saturating_sub(1)).chain(['…']).collect(),
    }
}

fn cut_to_bytes(mut text: String, bytes: usize) -> String {
    const END: &str = "…";
    if text.len() <= bytes {
        return text;
    }
    let mut end = bytes.saturating_sub(END.len()).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text.push_str(END);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_is_within_its_limit() {
        for text in
            ["", "a", "one two", &"word ".repeat(100), &"слово ".repeat(100), &"漢字".repeat(90)]
        {
            for tokens in 1..60 {
                let cut = cut_to_tokens(text, tokens);
                assert!(estimated_tokens(&cut) <= tokens, "{cut:?} {tokens}");
            }
            assert!(cut_to_chars(text, 20).chars().count() <= 20);
        }
        assert_eq!(cut_to_tokens("a\n b", 10), "a b");
    }
}
