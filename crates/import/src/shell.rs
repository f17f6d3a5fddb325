//! Shell texts: variables that stand for values of the run, and hints.

use super::draft::Draft;
use super::output::Out;
use kb_base::value::Json;

/// How `kb` executes a shell text, where other tools differ.
pub(super) const STRICT: &str = "shell texts run with `bash -euo pipefail`: a variable that is not set and a failing \
                      part of a pipe are errors; write `${NAME:-}` and `|| true` where that is not wanted";

/// The environment of a step, in order, without duplicates.
#[derive(Default, Clone)]
pub(super) struct Variables(pub(super) Vec<(String, Out)>);

impl Variables {
    pub(super) fn set(&mut self, name: &str, value: impl Into<Out>) {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), value.into()));
    }

    /// Adds variables for the names that a shell text reads.
    pub(super) fn provide(&mut self, text: &str, known: &[(String, String)]) {
        for (name, value) in known {
            if reads(text, name) && !self.0.iter().any(|(own, _)| own == name) {
                self.set(name, value.as_str());
            }
        }
    }

    /// The variables with their texts.
    pub(super) fn texts(&self) -> Vec<(String, String)> {
        let text = |(name, value): &(String, Out)| match value {
            Out::Value(Json::String(text)) => Some((name.clone(), text.clone())),
            _ => None,
        };
        self.0.iter().filter_map(text).collect()
    }

    pub(super) fn out(self) -> Option<Out> {
        (!self.0.is_empty()).then_some(Out::Map(self.0))
    }
}

/// How a shell text is quoted at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoted {
    Not,
    Single,
    Double,
}

/// How a shell text is quoted at its end. Comments and escapes count; after a here-document nothing does.
pub(super) fn quoted_after(text: &str) -> Quoted {
    let mut quoted = Quoted::Not;
    let mut before = '\n';
    let mut letters = text.char_indices();
    while let Some((at, c)) = letters.next() {
        match (quoted, c) {
            (Quoted::Not | Quoted::Double, '\\') => drop(letters.next()),
            (Quoted::Not, '<') if text[at..].starts_with("<<") => return Quoted::Not,
            (Quoted::Not, '#') if before.is_whitespace() => {
                letters.by_ref().find(|(_, c)| *c == '\n');
            }
            (Quoted::Not, '\'') => quoted = Quoted::Single,
            (Quoted::Not, '"') => quoted = Quoted::Double,
            (Quoted::Single, '\'') | (Quoted::Double, '"') => quoted = Quoted::Not,
            _ => {}
        }
        before = c;
    }
    quoted
}

/// Whether a command begins at the end of a shell text.
pub(super) fn is_command(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    let words = ["then", "do", "else", "if", "while", "until", "!"];
    before.is_empty()
        || before.ends_with(['\n', ';', '&', '|', '(', '{'])
        || before.split_whitespace().next_back().is_some_and(|word| words.contains(&word))
}

/// Whether a shell text reads a variable.
pub(super) fn reads(text: &str, name: &str) -> bool {
    let after = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    text.match_indices(name).any(|(at, _)| {
        let before = &text[..at];
        let rest = &text[at + name.len()..];
        ["$", "${", "${#", "${!"].iter().any(|sign| before.ends_with(sign)) && after(rest)
    })
}

/// Notes what a shell text does that `kb` has no counterpart for.
pub(super) fn look_at(text: &str, line: u32, draft: &mut Draft) {
    if text.contains('$') || text.contains('|') {
        draft.hint(line, STRICT);
    }
    for name in ["GITHUB_ENV", "GITHUB_PATH"] {
        if text.contains(name) {
            draft.fails(
                line,
                format!(
                    "`{name}` does not exist; print the value and read `{{{{steps['ID'].output}}}}`"
                ),
            );
        }
    }
}
