//! Finds the placeholders of a text.

use super::brackets::{close, end_of_quotes};
use super::names::{Names, Style};
use super::resolve::{STEP_FIELDS, is_known_word, known_words, step_of};
use kb_base::diagnostic::{Code, edit_distance};
use std::ops::Range;

/// The form of a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `{{ expression }}`.
    Double,
    /// `<< reference >>`, the form of workflows.
    Angle,
    /// `{name}`, in workflows.
    Single,
}

/// A part of a scanned text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Literal text with resolved escapes.
    Text(String),
    /// A placeholder to evaluate.
    Placeholder(PlaceholderSpan),
}

/// A placeholder, by byte offsets into its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlaceholderSpan {
    /// Including the brackets.
    pub(super) outer: Range<usize>,
    /// Without the brackets.
    pub(super) inner: Range<usize>,
    /// The form of the brackets.
    pub(super) form: Form,
}

/// A text that is almost a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScanProblem {
    pub(super) at: Range<usize>,
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) help: String,
}

/// The kind of text that is scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// A template: escapes are resolved, quotes are literal.
    Text,
    /// An expression: quotes delimit strings, and a placeholder inside a string is an error.
    Code,
}

/// The `{name}` placeholders of a workflow text with the form of a parameter name, declared or not.
/// Workflows without `params` infer their parameters from them.
pub fn bare_names(text: &str) -> Vec<(Range<usize>, String)> {
    let mut found = Vec::new();
    let (mut at, mut unclosed) = (0, 0);
    while let Some(open) = text[at..].find('{').map(|i| at + i) {
        at = open + 1;
        let before = text[..open].chars().next_back();
        if text[at..].starts_with('{') {
            let end = (unclosed < MAX_UNCLOSED).then(|| close(text, at + 1)).flatten();
            unclosed += usize::from(end.is_none());
            at = end.map_or(at + 1, |end| end + 2);
        } else if !matches!(before, Some('$' | '\\' | '{'))
            && let Some(end) = end_of_names(text, at)
            && is_word(&text[at..end])
            && !text[at..end].contains('-')
            && !text[end + 1..].starts_with('}')
        {
            found.push((open..end + 1, text[at..end].to_owned()));
        }
    }
    found
}

/// How many placeholders that are not closed are looked for in one text.
const MAX_UNCLOSED: usize = 16;

/// Scans a text once from left to right.
pub(super) struct Scanner<'a> {
    text: &'a str,
    names: &'a Names,
    style: Style,
    mode: Mode,
    pieces: Vec<Piece>,
    problems: Vec<ScanProblem>,
    pending: String,
    /// How many placeholders were not closed.
    unclosed: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str, names: &'a Names, style: Style, mode: Mode) -> Self {
        let (pieces, problems, pending) = (Vec::new(), Vec::new(), String::new());
        Scanner { text, names, style, mode, pieces, problems, pending, unclosed: 0 }
    }

    /// The pieces in order, and the texts that are almost placeholders.
    pub(super) fn scan(mut self) -> (Vec<Piece>, Vec<ScanProblem>) {
        let mut at = 0;
        while at < self.text.len() {
            at = self.step(at);
        }
        self.flush();
        (self.pieces, self.problems)
    }

    fn flush(&mut self) {
        if !self.pending.is_empty() {
            self.pieces.push(Piece::Text(std::mem::take(&mut self.pending)));
        }
    }

    /// Consumes the piece at an offset and returns the offset after it.
    fn step(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        let end = match (self.mode, rest.as_bytes()[0]) {
            (Mode::Text, b'\\') => self.escape(at),
            (Mode::Code, b'\'' | b'"') => Some(self.quoted(at)),
            (_, b'{') if rest.starts_with("{{") => self.double(at),
            (_, b'{') if self.style == Style::Workflow => self.single(at),
            (_, b'<') if rest.starts_with("<<") => self.angle(at),
            _ => None,
        };
        end.unwrap_or_else(|| {
            let plain = rest.chars().next().map_or(1, char::len_utf8);
            self.pending.push_str(&rest[..plain]);
            at + plain
        })
    }

    fn placeholder(&mut self, outer: Range<usize>, inner: Range<usize>, form: Form) -> usize {
        self.flush();
        let end = outer.end;
        self.pieces.push(Piece::Placeholder(PlaceholderSpan { outer, inner, form }));
        end
    }

    fn problem(&mut self, at: Range<usize>, code: Code, message: String, help: impl Into<String>) {
        self.problems.push(ScanProblem { at, code, message, help: help.into() });
    }

    fn escape(&mut self, at: usize) -> Option<usize> {
        let rest = &self.text[at + 1..];
        let literal = match () {
            () if rest.starts_with("{{") => "{{",
            () if rest.starts_with("<<") => "<<",
            () if rest.starts_with('{') && self.style == Style::Workflow => "{",
            () => return None,
        };
        self.pending.push_str(literal);
        Some(at + 1 + literal.len())
    }

    /// A quoted string of an expression.
    fn quoted(&mut self, at: usize) -> usize {
        let end = end_of_quotes(self.text, at).unwrap_or(self.text.len());
        let quoted = &self.text[at..end];
        if let Some(open) = quoted.find("{{").filter(|open| quoted[*open..].contains("}}")) {
            let inner = quoted[open..].trim_matches(['\'', '"']);
            self.problem(
                at..end,
                Code::BAD_PLACEHOLDER,
                "a placeholder inside quotes is not evaluated".to_owned(),
                format!("remove the quotes: `{inner}`; in a condition, braces act as parentheses"),
            );
        }
        self.pending.push_str(quoted);
        end
    }

    fn double(&mut self, at: usize) -> Option<usize> {
        // Each search can read the rest of the text, so their number is limited.
        let end = (self.unclosed < MAX_UNCLOSED).then(|| close(self.text, at + 2)).flatten();
        let Some(end) = end else {
            // Of several placeholders that are not closed, the first one is reported.
            if self.unclosed == 0 {
                self.problem(
                    at..at + 2,
                    Code::BAD_PLACEHOLDER,
                    "the placeholder is not closed".to_owned(),
                    "close it with `}}`, or write `\\{{` for two literal braces",
                );
            }
            self.unclosed += 1;
            self.pending.push_str("{{");
            return Some(at + 2);
        };
        if self.text[at + 2..end].trim().is_empty() {
            self.problem(
                at..end + 2,
                Code::BAD_PLACEHOLDER,
                "the placeholder is empty".to_owned(),
                "name a parameter or a step, as in `{{ params.name }}`, or write `\\{{` for literal text",
            );
        }
        Some(self.placeholder(at..end + 2, at + 2..end, Form::Double))
    }

    fn angle(&mut self, at: usize) -> Option<usize> {
        let line = self.text[at..].lines().next().unwrap_or_default();
        let before = self.text[..at].chars().next_back();
        if before == Some('<') || line[2..].starts_with(['<', '-']) {
            return None;
        }
        let length = line[2..].find(">>")?;
        let (start, end) = (at + 2, at + 2 + length);
        let inner = self.text[start..end].trim();
        let (word, rest) = leading_word(inner)?;
        if !is_reference(rest) {
            return None;
        }
        if is_known(self.names, word, rest) {
            return Some(self.placeholder(at..end + 2, start..end, Form::Angle));
        }
        let names = known_words(self.names, !rest.trim_start().is_empty());
        if let Some(near) = nearby(word, names.iter().map(String::as_str)) {
            let message = format!("`{word}` is not a declared name");
            let help = format!("did you mean `{near}`? For literal text, write `\\<<`");
            self.problem(at..end + 2, Code::MISSPELLED_PLACEHOLDER, message, help);
        }
        None
    }

    /// Reports a name in single braces with spaces around it, or with an index, which would stay as text.
    fn unreadable(&mut self, at: usize) {
        let rest = &self.text[at + 1..];
        let Some(inner) = rest.find('}').map(|end| &rest[..end]) else { return };
        let trimmed = inner.trim_matches(' ');
        let (name, index) = trimmed.split_at(trimmed.find('[').unwrap_or(trimmed.len()));
        let is_spaced = name.len() < inner.len() && name.contains('.');
        if !is_reference(index)
            || !name.split('.').all(is_word)
            || !names_something(self.names, name)
        {
            return;
        }
        let (what, form) = match name.split_once('.') {
            _ if index.is_empty() && is_spaced => ("spaces", format!("{{{name}}}")),
            _ if index.is_empty() => return,
            Some((step, key)) if !STEP_FIELDS.contains(&key) && step != "params" => {
                ("an index", format!("{{{{{step}.output.{key}{index}}}}}"))
            }
            _ => ("an index", format!("{{{{{name}{index}}}}}")),
        };
        let message = format!("`{{{inner}}}` has {what}, so it is text and no placeholder");
        let help = format!("write `{form}`. For literal text, write `\\{{`");
        self.problem(at..at + inner.len() + 2, Code::MISSPELLED_PLACEHOLDER, message, help);
    }

    fn single(&mut self, at: usize) -> Option<usize> {
        let Some(end) = end_of_names(self.text, at + 1) else {
            self.unreadable(at);
            return None;
        };
        let inner = &self.text[at + 1..end];
        let before = self.text[..at].chars().next_back();
        if before == Some('$') || !inner.split('.').all(is_word) {
            return None;
        }
        if names_something(self.names, inner) {
            return Some(self.placeholder(at..end + 1, at + 1..end, Form::Single));
        }
        let known =
            if inner.contains('.') { dotted_names(self.names) } else { words_of(self.names) };
        if let Some(near) = nearby(inner, known.iter().map(String::as_str)) {
            let message = format!("`{{{inner}}}` names no parameter, step or output");
            let help = format!("did you mean `{{{near}}}`? For literal text, write `\\{{`");
            self.problem(at..end + 1, Code::MISSPELLED_PLACEHOLDER, message, help);
        } else if let Some((root, key)) = inner.split_once('.')
            && step_of(self.names, root).is_some()
        {
            let key = key.split('.').next().unwrap_or_default();
            let message = format!("`{{{inner}}}`: `outputs` of the step `{root}` has no `{key}`");
            let help = format!(
                "add `{key}` to `outputs` of `{root}`, or write `{{{root}.output.{key}}}`. For literal text, write `\\{{`"
            );
            self.problem(at..end + 1, Code::MISSPELLED_PLACEHOLDER, message, help);
        } else if inner.contains('.') && inner.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let message = format!("`{{{inner}}}` names no parameter, step or output");
            let help = "name an output of an earlier step, as in `{STEP.KEY}`. For literal text, write `\\{`";
            self.problem(at..end + 1, Code::MISSPELLED_PLACEHOLDER, message, help);
        }
        None
    }
}

/// The offset of the `}` that follows names and dots directly.
fn end_of_names(text: &str, at: usize) -> Option<usize> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let end = at + text[at..].find(|c| !is_part(c))?;
    text[end..].starts_with('}').then_some(end)
}

/// Whether `{a.b}` of a workflow names a parameter, a step or an output.
fn names_something(names: &Names, inner: &str) -> bool {
    let mut parts = inner.split('.');
    let root = parts.next().unwrap_or_default();
    let key = parts.next();
    let is_item = names.item.as_deref() == Some(root);
    if names.params.contains(root) || is_item {
        return true;
    }
    match (step_of(names, root), key) {
        (Some(_), None) => true,
        (Some(step), Some(key)) => {
            STEP_FIELDS.contains(&key)
                || names
                    .outputs
                    .get(step.as_str())
                    .is_some_and(|keys| keys.iter().any(|k| k == key))
        }
        (None, Some(key)) => root == "params" && names.params.contains(key),
        (None, None) => false,
    }
}

/// The names that `{name}` of a workflow can have.
fn words_of(names: &Names) -> Vec<String> {
    let steps = names.steps.iter().map(ToString::to_string);
    names.params.iter().cloned().chain(names.item.clone()).chain(steps).collect()
}

fn dotted_names(names: &Names) -> Vec<String> {
    let outputs = names
        .outputs
        .iter()
        .flat_map(|(step, keys)| keys.iter().map(move |key| format!("{step}.{key}")));
    let fields = names.steps.iter().map(|step| format!("{step}.output"));
    let params = names.params.iter().map(|name| format!("params.{name}"));
    outputs.chain(fields).chain(params).collect()
}

/// Whether a text starts with a declared name. Roots of the scope count only with a path, because `run`
/// and `item` are ordinary words.
pub(super) fn is_known(names: &Names, word: &str, rest: &str) -> bool {
    let has_path = rest.starts_with(['.', '[']);
    is_known_word(names, word, has_path)
}

/// The part of a word before the first dash, which is the root in an expression.
pub(super) fn undashed(word: &str) -> &str {
    word.split('-').next().unwrap_or(word)
}

/// The most similar name that differs by at most two letters and at most half of them.
pub(super) fn nearby<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    names
        .map(|name| (edit_distance(word, name), name))
        .filter(|(distance, name)| {
            let letters = word.chars().count().max(name.chars().count());
            *distance <= 2 && 2 * distance <= letters
        })
        .min()
        .map(|(_, name)| name)
}

/// Whether the text after a root is the rest of a reference: `.key`, `['key']`, `[0]`, and then the end
/// or `| filter`.
pub(super) fn is_reference(mut rest: &str) -> bool {
    loop {
        let trimmed = rest.trim_start();
        if trimmed.is_empty() || (trimmed.starts_with('|') && !trimmed.starts_with("||")) {
            return true;
        }
        rest = if let Some(key) = rest.strip_prefix('.') {
            match leading_word(key) {
                Some((_, after)) => after,
                None => return false,
            }
        } else if rest.starts_with('[') {
            match rest.find(']') {
                Some(end) => &rest[end + 1..],
                None => return false,
            }
        } else {
            return false;
        };
    }
}

pub(super) fn leading_word(text: &str) -> Option<(&str, &str)> {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let end = text.find(|c| !is_inner(c)).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    is_word(word).then_some((word, rest))
}

/// Whether a text has the form of a step id or parameter name.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}
