//! Splits a markdown file into front matter and body.

use std::ops::Range;

/// The two parts of a markdown file, as byte ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrontMatter {
    /// The text between the fences.
    pub(crate) matter: Range<usize>,
    /// The text after the closing fence.
    pub(crate) body: Range<usize>,
}

/// The reason why a text has no front matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrontMatterError {
    /// The first line is not `---`.
    Missing,
    /// No later line is `---` or `...`.
    Unclosed,
}

/// Splits a text whose first line, at byte `start`, is exactly `---`. The next line that is `---` or
/// `...` closes the front matter. Nothing is trimmed or rewritten.
pub(crate) fn split_front_matter(
    text: &str,
    start: usize,
) -> Result<FrontMatter, FrontMatterError> {
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next().filter(|line| is(line, "---")).ok_or(FrontMatterError::Missing)?;
    let begin = start + first.len();
    let mut at = begin;
    for line in lines {
        if is(line, "---") || is(line, "...") {
            return Ok(FrontMatter { matter: begin..at, body: at + line.len()..text.len() });
        }
        at += line.len();
    }
    Err(FrontMatterError::Unclosed)
}

fn is(line: &str, fence: &str) -> bool {
    line.trim_end_matches(['\n', '\r', ' ', '\t']) == fence
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(&str, &str), FrontMatterError>) {
        let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let found = split_front_matter(text, start)
            .map(|split| (&text[split.matter.clone()], &text[split.body.clone()]));
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn splits_without_changing_a_byte() {
        check("---\na: 1\n---\nbody\n", Ok(("a: 1\n", "body\n")));
        check("---\r\na: 1\r\n---\r\n\r\nbody", Ok(("a: 1\r\n", "\r\nbody")));
        check("\u{feff}---\na: 1\n...\n", Ok(("a: 1\n", "")));
        check("---\n---\n--- x\n", Ok(("", "--- x\n")));
        check("---\na: |\n  x\n---\n  y", Ok(("a: |\n  x\n", "  y")));
        check("# Title\n---\n", Err(FrontMatterError::Missing));
        check("", Err(FrontMatterError::Missing));
        check("---\na: 1\n", Err(FrontMatterError::Unclosed));
    }

    #[test]
    fn agrees_with_gray_matter_on_regular_files() {
        use gray_matter::{Matter, Pod, engine::YAML};
        for text in [
            "---\nname: a\n---\nbody",
            "---\nname: a\nsteps:\n  - id: b\n---\n# Title\n\ntext\n\n---\n\nmore",
            "---\nname: a\n---\n",
        ] {
            let split = split_front_matter(text, 0).expect("regular");
            let theirs = Matter::<YAML>::new().parse::<Pod>(text).expect("regular");
            assert_eq!(theirs.matter.trim(), text[split.matter].trim());
            assert_eq!(theirs.content.trim(), text[split.body].trim());
        }
    }
}
