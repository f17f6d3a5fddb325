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
    let (mut out, mut rest, mut line) = (String::new(), text, line);
    let lines = |passed: &str| passed.matches('\n').count() as u32;
    let foreign = |found: &str| format!("`{found}` is not mapped and stays as text");
    while let Some(at) = next(rest) {
        let close = if rest[at..].starts_with("{{") { "}}" } else { "%}" };
        let Some(end) = rest[at + 2..].find(close).map(|end| at + 2 + end) else { break };
        out.push_str(&rest[..at]);
        line += lines(&rest[..at]);
        let (found, inner) = (&rest[at..end + 2], rest[at + 2..end].trim());
        match known(inner).filter(|_| close == "}}") {
            Some(kept) => out.push_str(&kept),
            None => {
                draft.fails(line, foreign(found));
                out.push_str(&literal(found));
            }
        }
        line += lines(found);
        rest = &rest[end + 2..];
    }
    out.push_str(&literal(rest));
    out
}

/// Where the next placeholder or statement begins.
fn next(text: &str) -> Option<usize> {
    let mut braces = text.match_indices('{').map(|(at, _)| at);
    braces.find(|at| text[at + 1..].starts_with(['{', '%']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_without_an_end_stay_as_text() {
        for text in ["{%}% if a %}b", "{{}", "{%}", "{{}}", "a {% b", "{%%}{{ }}"] {
            let mut draft = Draft::new("x", &Default::default());
            let out = kept(text, 1, &mut draft, |_| None);
            assert!(!out.is_empty(), "{text}");
        }
    }

    /// The time is proportional to the length: a text of a megabyte took 25 seconds.
    #[test]
    fn each_part_of_a_text_is_read_once() {
        let text = "{{topic}}\n".repeat(100_000);
        let mut draft = Draft::new("x", &Default::default());
        let began = std::time::Instant::now();
        let out = kept(&text, 1, &mut draft, |_| None);
        assert_eq!(draft.finish().notes.last().map(|note| note.line), Some(100_000));
        assert!(out.len() > text.len());
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
    }
}
