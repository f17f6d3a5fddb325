//! Parts of a file that are found on their own: definitions, sections, and windows of lines.

use kb_code::{Language, Symbol};

/// Maximum number of lines of a part. A longer one is cut into windows.
const MAX_LINES: usize = 80;
/// Lines of a window, and how many of them the next one repeats.
const WINDOW: usize = 60;
const OVERLAP: usize = 10;
/// Lines from which a definition is a part of its own. Functions and headings always are.
const OWN_LINES: u32 = 3;

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The definition with those around it, such as `Index.query`; empty for a part of none.
    pub symbol: String,
    /// What is defined, such as `function` or `heading`; empty for a part of none.
    pub kind: &'static str,
    /// Number of its first line, from 1.
    pub start: u32,
    /// Number of its last line.
    pub end: u32,
    /// Names of the smaller definitions in it.
    pub names: Vec<String>,
}

/// The parts of a file in the order of its lines. Each line with a letter or digit is in at least one. The path decides
/// the language; a file of none, and one at which `stop` said so, is cut into windows.
pub fn chunks(path: &str, text: &str, stop: &mut dyn FnMut() -> bool) -> Vec<Chunk> {
    let lines: Vec<&str> = text.lines().collect();
    let language = Language::of_path(path);
    let found = language.and_then(|language| kb_code::symbols(text, language, stop));
    let symbols = found.unwrap_or_default();
    // The innermost definition of each line.
    let mut owner: Vec<Option<usize>> = vec![None; lines.len()];
    for (index, symbol) in symbols.iter().enumerate().filter(|(_, symbol)| is_own(symbol)) {
        let first = symbol.line as usize - 1;
        let end = (symbol.end_line as usize).min(lines.len());
        let around = owner.get(first).copied().flatten();
        let above = (0..first).rev();
        let comment = above.take_while(|at| owner[*at] == around && is_comment(lines[*at]));
        let start = comment.last().unwrap_or(first);
        owner[start..end.max(start)].fill(Some(index));
    }
    let mut parts = Vec::new();
    let mut start = 0;
    while start < lines.len() {
        let same = owner[start..].iter().take_while(|other| **other == owner[start]).count();
        let end = start + same;
        if lines[start..end].iter().any(|line| line.contains(char::is_alphanumeric)) {
            let symbol = owner[start].map(|index| &symbols[index]);
            parts
                .extend(windows(start, end).map(|(start, end)| part(symbol, &symbols, start, end)));
        }
        start = end;
    }
    parts
}

/// The text of a part of which a vector is made. The vector is stored by its digest.
pub(crate) fn text_of(path: &str, symbol: &str, body: &str) -> String {
    format!("{path} {symbol}\n{body}")
}

/// Whether a definition is a part of its own. Others are found by the part that they lie in.
fn is_own(symbol: &Symbol) -> bool {
    let lines = symbol.end_line - symbol.line + 1;
    lines >= OWN_LINES || matches!(symbol.kind, "function" | "method" | "heading")
}

/// Whether a line belongs to the definition below it: a comment, an attribute or a decorator.
fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    ["//", "/*", "*", "#[", "@", "# "].iter().any(|mark| line.starts_with(mark))
}

/// The lines from `start` to before `end`, as pieces of at most [`MAX_LINES`].
fn windows(start: usize, end: usize) -> impl Iterator<Item = (usize, usize)> {
    let (length, step) =
        if end - start <= MAX_LINES { (MAX_LINES, MAX_LINES) } else { (WINDOW, WINDOW - OVERLAP) };
    let starts = (start..end).step_by(step);
    // The last window has more than what the one before repeats.
    let useful = starts.filter(move |at| *at == start || end - at > OVERLAP);
    useful.map(move |at| (at, (at + length).min(end)))
}

fn part(symbol: Option<&Symbol>, all: &[Symbol], start: usize, end: usize) -> Chunk {
    let (first, last) = (start as u32 + 1, end as u32);
    let inside = |other: &&Symbol| !is_own(other) && (first..=last).contains(&other.line);
    let names = all.iter().filter(inside).map(|other| other.name.clone()).collect();
    let full = |symbol: &Symbol| match symbol.container.as_str() {
        "" => symbol.name.clone(),
        around => format!("{around}.{}", symbol.name),
    };
    Chunk {
        symbol: symbol.map(full).unwrap_or_default(),
        kind: symbol.map_or("", |symbol| symbol.kind),
        start: first,
        end: last,
        names,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts as `symbol first-last`.
    fn shown(path: &str, text: &str) -> Vec<String> {
        let all = chunks(path, text, &mut || false).into_iter();
        all.map(|part| format!("{} {}-{}", part.symbol, part.start, part.end)).collect()
    }

    #[test]
    fn definitions_are_parts_with_their_comments_and_the_rest_lies_between() {
        let rust = "use a;\n\nconst X: u8 = 1;\n/// Doc.\n#[test]\nstruct S {\n    a: u8,\n}\nimpl S {\n    /// Doc.\n    fn f() {\n        g();\n    }\n    fn g() {}\n}\nfn h() {}\n";
        assert_eq!(
            shown("a.rs", rust),
            [" 1-3", "S 4-8", "S 9-9", "S.f 10-13", "S.g 14-14", "h 16-16"]
        );
        assert_eq!(chunks("a.rs", rust, &mut || false)[0].names, ["X"]);
    }

    #[test]
    fn sections_are_parts_of_markdown() {
        let text = "intro\n# A\nx\n## B\ny\n# C\nz\n";
        assert_eq!(shown("a.md", text), [" 1-1", "A 2-3", "A.B 4-5", "C 6-7"]);
    }

    #[test]
    fn long_parts_and_other_files_are_cut_into_windows() {
        let lines = |count: usize| (1..=count).map(|at| format!("line {at}\n")).collect::<String>();
        assert_eq!(shown("a.txt", &lines(80)), [" 1-80"]);
        assert_eq!(shown("a.txt", &lines(120)), [" 1-60", " 51-110", " 101-120"]);
        assert_eq!(shown("a.txt", &lines(110)), [" 1-60", " 51-110"]);
        assert!(shown("a.txt", "").is_empty() && shown("a.rs", "\n}\n").is_empty());
    }

    #[test]
    fn each_line_with_a_word_is_in_a_part() {
        for (path, text) in [
            ("layout.rs", include_str!("chunk.rs")),
            ("x.md", include_str!("../../../docs/glossary.md")),
            ("x", include_str!("../../../Cargo.toml")),
        ] {
            let parts = chunks(path, text, &mut || false);
            for (at, line) in (1u32..).zip(text.lines()) {
                let covered = parts.iter().any(|part| (part.start..=part.end).contains(&at));
                assert!(covered || !line.contains(char::is_alphanumeric), "{path}:{at}");
            }
            assert!(parts.iter().all(|part| part.end - part.start < MAX_LINES as u32));
        }
    }
}
