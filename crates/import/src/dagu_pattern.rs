//! Words of a shell, and the patterns of Dagu as patterns of `grep -E`.

/// A text as one word of a shell.
pub(super) fn word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A pattern of Dagu as one of `grep -E` that matches the same lines; none if it has parts that differ.
pub(super) fn extended(pattern: &str) -> Option<String> {
    let (mut out, mut letters, mut is_class) = (String::new(), pattern.chars().peekable(), false);
    let is_usual = |c: char| c.is_ascii_alphanumeric() || " _/:,;=<>%&~#@!'\"-".contains(c);
    while let Some(c) = letters.next() {
        match c {
            '\\' => match letters.next()? {
                'd' if is_class => out.push_str("0-9"),
                'd' => out.push_str("[0-9]"),
                'w' if !is_class => out.push_str("[A-Za-z0-9_]"),
                's' if !is_class => out.push_str("[[:space:]]"),
                sign if sign.is_ascii_punctuation() && !is_class => out.extend(['\\', sign]),
                _ => return None,
            },
            '[' if is_class => return None,
            '[' => {
                is_class = true;
                out.push('[');
                out.extend(letters.next_if_eq(&'^'));
                if letters.peek() == Some(&']') {
                    return None;
                }
            }
            ']' => {
                is_class = false;
                out.push(']');
            }
            '(' if !is_class && letters.peek() == Some(&'?') => return None,
            '*' | '+' | '?' | '}' if !is_class => {
                out.push(c);
                // A repetition that prefers less, or that is repeated.
                if letters.peek().is_some_and(|next| "*+?{".contains(*next)) {
                    return None;
                }
            }
            '.' | '^' | '$' | '|' | '(' | ')' | '{' | '*' | '+' | '?' => out.push(c),
            '}' => return None,
            c if is_usual(c) => out.push(c),
            _ => return None,
        }
    }
    (!out.is_empty() && !is_class).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_kept_where_grep_reads_them_alike() {
        for (pattern, wanted) in [
            ("^1[0-9]$", Some("^1[0-9]$")),
            (r"v-\d+\.\d", Some(r"v-[0-9]+\.[0-9]")),
            (r"^\[WARN\]", Some(r"^\[WARN\]")),
            ("re.*[^a-z]|x{2}", Some("re.*[^a-z]|x{2}")),
            ("a*?", None),
            ("(?i)x", None),
            (r"\bword", None),
            (r"[\w]", None),
            ("é", None),
            ("", None),
        ] {
            assert_eq!(extended(pattern).as_deref(), wanted, "{pattern}");
        }
        assert_eq!(word("it's"), r"'it'\''s'");
    }
}
