//! Placeholders `{{ … }}` and statements `{% … %}` in texts of other tools.

use super::draft::{Draft, literal};

/// A text in which the placeholders that `known` accepts stay. Every other one, and every statement, stays as
/// text and is reported. `line` is the line of the first line of the text.
pub(super) fn kept(
    text: &str,
    line: u32,
    draft: &mut Draft,
    known: impl Fn(&str) -> Option<String>,
) -> String {
    let (mut out, mut rest) = (String::new(), text);
    let line_at = |rest: &str| {
        let before = &text[..text.len() - rest.len()];
        line + before.matches('\n').count() as u32
    };
    let foreign = |found: &str| format!("`{found}` is not mapped and stays as text");
    while let Some(at) = rest.find("{{").into_iter().chain(rest.find("{%")).min() {
        let close = if rest[at..].starts_with("{{") { "}}" } else { "%}" };
        let Some(end) = rest[at + 2..].find(close).map(|end| at + 2 + end) else { break };
        out.push_str(&rest[..at]);
        let (found, inner) = (&rest[at..end + 2], rest[at + 2..end].trim());
        match known(inner).filter(|_| close == "}}") {
            Some(kept) => out.push_str(&kept),
            None => {
                draft.unmapped(line_at(&rest[at..]), foreign(found));
                out.push_str(&literal(found));
            }
        }
        rest = &rest[end + 2..];
    }
    out.push_str(&literal(rest));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_without_an_end_stay_as_text() {
        for text in ["{%}% if a %}b", "{{}", "{%}", "{{}}", "a {% b", "{%%}{{ }}"] {
            let mut draft = Draft::new("x");
            let out = kept(text, 1, &mut draft, |_| None);
            assert!(!out.is_empty(), "{text}");
        }
    }
}
