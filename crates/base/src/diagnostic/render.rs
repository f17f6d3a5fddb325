//! Drawing of diagnostics with source lines and carets.

use super::{Diagnostic, Severity, Source, SourceId, Sources, Span};
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use std::ops::Range;

/// Draws a diagnostic with its source lines and carets in the style of rustc. Every span is accepted,
/// including one past the end of the text or inside a character. `columns` is the width of a terminal: a source line that is
/// longer is shortened around its marks.
pub fn render(
    diagnostic: &Diagnostic,
    sources: &Sources,
    colour: bool,
    columns: Option<usize>,
) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let renderer = columns.map_or(renderer.clone(), |columns| renderer.term_width(columns));
    let title = level(diagnostic.severity)
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code.as_str());
    let mut group = Group::with_title(title);
    for excerpt in excerpts(diagnostic, sources) {
        group = group.element(excerpt.snippet());
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    renderer.render(&[group])
}

/// Counts by severity, such as `2 errors, 1 warning`; `no problems` for an empty list.
pub fn summary(diagnostics: &[Diagnostic]) -> String {
    let count = |severity, one: &str, many: &str| match diagnostics
        .iter()
        .filter(|d| d.severity == severity)
        .count()
    {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {many}")),
    };
    let parts: Vec<String> = [
        count(Severity::Error, "error", "errors"),
        count(Severity::Warning, "warning", "warnings"),
        count(Severity::Info, "note", "notes"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() { "no problems".to_owned() } else { parts.join(", ") }
}

fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    }
}

/// Maximum number of underlined characters.
const UNDERLINED: usize = 80;
/// Marks of one file whose columns differ by more than this are drawn in separate excerpts: long lines
/// are cut around the marks, and one cut applies to all lines of an excerpt.
const MAX_COLUMN_DISTANCE: usize = 90;

/// The underlined part of one line.
struct Mark<'a> {
    bytes: Range<usize>,
    column: usize,
    primary: bool,
    text: &'a str,
}

/// Marks of one file that are drawn together.
struct Excerpt<'a> {
    id: SourceId,
    source: &'a Source,
    marks: Vec<Mark<'a>>,
}

fn excerpts<'a>(diagnostic: &'a Diagnostic, sources: &'a Sources) -> Vec<Excerpt<'a>> {
    let primary = diagnostic.span.map(|span| (span, diagnostic.caption.as_str(), true));
    let labels = diagnostic.labels.iter().map(|label| (label.span, label.text.as_str(), false));
    let mut excerpts: Vec<Excerpt<'a>> = Vec::new();
    for (span, text, primary) in primary.into_iter().chain(labels) {
        let source = sources.get(span.source);
        let mark = Mark { primary, text, ..mark(source, span) };
        let beside = excerpts.iter_mut().find(|excerpt| excerpt.takes(span.source, &mark));
        match beside {
            Some(excerpt) => excerpt.marks.push(mark),
            None => excerpts.push(Excerpt { id: span.source, source, marks: vec![mark] }),
        }
    }
    excerpts
}

/// The underlined part of a span: whole characters of its first line.
fn mark(source: &Source, span: Span) -> Mark<'static> {
    let text: &str = &source.text;
    let start = boundary(text, span.start as usize);
    let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
    let end = boundary(text, span.end as usize).clamp(start, line_end);
    let cut = text[start..end].char_indices().nth(UNDERLINED).map_or(end, |(i, _)| start + i);
    let end = start + text[start..cut].trim_end().len();
    let column = text[line_start(text, start)..start].chars().count();
    Mark { bytes: start..end, column, primary: false, text: "" }
}

/// The nearest character boundary at or before `offset`.
fn boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

fn line_start(text: &str, offset: usize) -> usize {
    match text[..offset].rfind('\n') {
        Some(i) => i + 1,
        None if text.starts_with('\u{feff}') && offset >= 3 => 3,
        None => 0,
    }
}

impl<'a> Excerpt<'a> {
    fn takes(&self, id: SourceId, mark: &Mark<'_>) -> bool {
        let near = |own: &Mark<'_>| own.column.abs_diff(mark.column) <= MAX_COLUMN_DISTANCE;
        self.id == id && self.marks.iter().all(near)
    }

    /// The lines from the first mark to the last. Lines without a mark are omitted in the drawing.
    fn snippet(&self) -> Snippet<'a, Annotation<'a>> {
        let text: &'a str = &self.source.text;
        let first = self.marks.iter().map(|mark| mark.bytes.start).min().unwrap_or(0);
        let last = self.marks.iter().map(|mark| mark.bytes.end).max().unwrap_or(0);
        let from = line_start(text, first);
        let to = text[last..].find('\n').map_or(text.len(), |i| last + i);
        let line = text[..from].matches('\n').count() + 1;
        let annotations = self.marks.iter().map(|mark| {
            let kind = if mark.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let annotation =
                kind.span(mark.bytes.start.max(from) - from..mark.bytes.end.max(from) - from);
            if mark.text.is_empty() { annotation } else { annotation.label(mark.text) }
        });
        Snippet::source(&text[from..to])
            .path(&*self.source.path)
            .line_start(line)
            .annotations(annotations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;

    fn draw(text: &str, start: usize, end: usize) -> String {
        let mut sources = Sources::default();
        let id = sources.add("playbooks/a.yml", text);
        let problem =
            Diagnostic::error(Code::CIRCULAR_DEPENDENCY, Span::new(id, start, end), "here it is")
                .caption("this");
        render(&problem, &sources, false, None)
    }

    /// The columns of `text` and of the caret in the line below it.
    fn caret_below(drawn: &str, text: &str) -> (usize, usize) {
        let lines: Vec<&str> = drawn.lines().collect();
        let at = lines.iter().position(|line| line.contains(text)).expect(drawn);
        let column = |line: &str, byte: usize| line[..byte].chars().count();
        let found = column(lines[at], lines[at].find(text).expect("just seen"));
        (found, column(lines[at + 1], lines[at + 1].find('^').expect(drawn)))
    }

    #[test]
    fn looks_like_rustc() {
        let mut sources = Sources::default();
        let id = sources.add("playbooks/a.yml", "steps:\n  - id: fetch\n  - id: fetch\n");
        let other = sources.add("playbooks/b.yml", "id: fetch\n");
        let problem = Diagnostic::error(
            Code::CIRCULAR_DEPENDENCY,
            Span::new(id, 29, 34),
            "duplicate id `fetch`",
        )
        .caption("used again")
        .label(Span::new(id, 15, 20), "first used here")
        .label(Span::new(other, 4, 9), "and here")
        .help("choose another id");
        insta::assert_snapshot!(render(&problem, &sources, false, None), @r"
        error[KB0401]: duplicate id `fetch`
         --> playbooks/a.yml:3:9
          |
        2 |   - id: fetch
          |         ----- first used here
        3 |   - id: fetch
          |         ^^^^^ used again
          |
         ::: playbooks/b.yml:1:5
          |
        1 | id: fetch
          |     ----- and here
          |
          = help: choose another id
        ");
    }

    #[test]
    fn a_problem_without_a_position_is_its_message_and_help() {
        let problem =
            Diagnostic::warning(Code::CIRCULAR_DEPENDENCY, None, "no models").help("set a key");
        let drawn = render(&problem, &Sources::default(), false, None);
        assert_eq!(drawn, "warning[KB0401]: no models\n |\n = help: set a key");
    }

    #[test]
    fn the_caret_is_below_the_marked_text() {
        for (text, word) in [
            ("a: wörd\n", "wörd"),
            ("\ttab: word\n", "word"),
            ("a: 1\r\nb: word\r\n", "word"),
            ("\u{feff}id: word\n", "word"),
            ("id: word", "word"),
        ] {
            let start = text.find(word).expect("is there");
            let drawn = draw(text, start, start + word.len());
            let (found, caret) = caret_below(&drawn, word);
            assert_eq!(found, caret, "{text:?}\n{drawn}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_column() {
        assert!(draw("\u{feff}id: word\n", 7, 11).contains("a.yml:1:5"));
        let mut sources = Sources::default();
        let id = sources.add("a", "\u{feff}id: word\n");
        assert_eq!(sources.position(id, 7).column, 5);
    }

    #[test]
    fn every_span_is_drawn() {
        for text in
            ["", "\n", "a", "é", "a\n", "a\r\n", "\u{feff}", "a\n\n\nb", "日本語\n", "\r\r\n"]
        {
            for start in 0..text.len() + 3 {
                for end in start..text.len() + 4 {
                    let drawn = draw(text, start, end);
                    assert!(drawn.contains("error[KB0401]: here it is"), "{text:?} {start} {end}");
                    assert!(drawn.contains('^'), "{text:?} {start}..{end}\n{drawn}");
                }
            }
        }
    }

    #[test]
    fn long_lines_are_cut_around_the_caret() {
        let text = format!("{}word{}\nshort\n", "x".repeat(50_000), "y".repeat(50_000));
        let drawn = draw(&text, 50_000, 50_004);
        assert!(drawn.lines().all(|line| line.chars().count() < 200), "{drawn}");
        let (found, caret) = caret_below(&drawn, "word");
        assert_eq!(found, caret, "{drawn}");
        assert!(draw(&text, 10, 99_000).lines().all(|line| line.chars().count() < 200));
    }

    #[test]
    fn at_80_columns_the_caret_stays_below_its_word() {
        let line = format!(
            "  - {{id: a, run: [echo, \"{}\", \"{{{{nope.output}}}}\"]}}\n",
            "a text ".repeat(14)
        );
        let mut sources = Sources::default();
        let id = sources.add("playbooks/a.yml", line.as_str());
        let start = line.find("nope").expect("is there");
        let span = Span::new(id, start, start + 4);
        let problem = Diagnostic::error(Code::CIRCULAR_DEPENDENCY, span, "no such step");
        let drawn = render(&problem, &sources, false, Some(80));
        let (found, caret) = caret_below(&drawn, "nope");
        assert_eq!(found, caret, "{drawn}");
        assert!(drawn.lines().all(|line| line.chars().count() <= 80), "{drawn}");
    }

    #[test]
    fn far_labels_do_not_stretch_the_lines() {
        let mut sources = Sources::default();
        let id = sources.add("a", format!("word{}word", "x".repeat(50_000)));
        let problem = Diagnostic::error(Code::CIRCULAR_DEPENDENCY, Span::new(id, 0, 4), "twice")
            .label(Span::new(id, 50_004, 50_008), "here too");
        let drawn = render(&problem, &sources, false, None);
        assert!(drawn.contains("here too"), "{drawn}");
        assert!(drawn.lines().all(|line| line.chars().count() < 200), "{drawn}");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert!(!draw("a: \u{1b}[31mred\n", 3, 8).contains('\u{1b}'));
    }

    #[test]
    fn counts_by_severity() {
        let error = Diagnostic::error(Code::CIRCULAR_DEPENDENCY, None, "");
        let warning = Diagnostic::warning(Code::CIRCULAR_DEPENDENCY, None, "");
        assert_eq!(summary(&[error.clone(), warning.clone(), error]), "2 errors, 1 warning");
        assert_eq!(summary(&[warning]), "1 warning");
        assert_eq!(summary(&[]), "no problems");
    }
}
