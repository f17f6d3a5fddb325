//! Names of code in statements: whether the step changed or added what is defined under a name.
//!
//! In a file whose language is read, the lines of the definition count, so a line below it, or a call of it, is no change
//! of it. In other files a changed line, or a line that encloses it by its indentation, must have the name.

use super::changed_lines::FileLines;
use super::observation::{DefinedName, Observation, ObservationQuery};
use super::recorded_changes::{History, RecordedChanges};
use super::statement::{Act, Statement, Token, names_code, tokens};
use super::support::{NAMES, Record};
use crate::evidence::{Invocation, is_code};
use regex::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Most files in which definitions are looked up.
const FILES: usize = 50;

/// The query for the definitions of names that statements say to have been added or changed.
pub(super) fn definition_query(
    statements: &[Statement],
    trace: &[Invocation],
    unwatched: bool,
) -> Option<ObservationQuery> {
    let mut names: Vec<String> = Vec::new();
    let changes = |said: &&Statement| matches!(said.act, Some(Act::Created | Act::Changed));
    for said in statements.iter().filter(changes) {
        let code = tokens(&said.sentence.text).into_iter().filter_map(|part| match part {
            Token::Code(code) => Some(code),
            Token::Word(_) | Token::Path(_) => None,
        });
        // The value of a key stands last.
        let is_value = said.in_key && names_code(&said.sentence.text);
        let value = said.sentence.text.split_whitespace().last().filter(|_| is_value);
        let all = code.chain(value.map(str::to_owned)).filter(|name| is_identifier(name));
        names.extend(all.map(|name| last_part(&name).to_owned()));
    }
    names.retain(|name| !name.is_empty());
    names.sort();
    names.dedup();
    names.truncate(NAMES);
    if names.is_empty() {
        return None;
    }
    let changes = RecordedChanges::of(trace, unwatched);
    let exists = |path: &&str| changes.history(path).after().is_some();
    let files: Vec<String> =
        changes.changed().filter(exists).take(FILES).map(str::to_owned).collect();
    (!files.is_empty()).then_some(ObservationQuery::Definitions { files, names })
}

impl Record<'_> {
    /// Whether the step changed, or added, what a name in one of the files is about; without files, in any that it changed.
    pub(super) fn has_changed_name(&self, name: &str, paths: &[&str], adds: bool) -> bool {
        let is_about =
            |own: &&str| paths.is_empty() || paths.iter().any(|path| self.is_same(own, path));
        self.changes.changed().filter(is_about).any(|path| {
            let history = self.changes.history(path);
            let Some(found) = self.definitions(path).filter(|_| is_identifier(name)) else {
                return changes_text(path, &history, name.trim_end_matches("()"), adds);
            };
            let mut own = found.iter().filter(|own| is_named(own, name)).peekable();
            if own.peek().is_some() {
                let lines = history.diffs().and_then(FileLines::of);
                return lines.is_some_and(|lines| {
                    own.any(|own| match adds {
                        true => adds_definition(&lines, own),
                        false => lines.changes_within(own.first..=own.last),
                    })
                });
            }
            changes_text(path, &history, last_part(name), adds)
        })
    }

    /// The definitions of the looked up names in a file; `None` if its language is not read.
    fn definitions(&self, path: &str) -> Option<&[DefinedName]> {
        let seen = self.observations.values().find_map(|seen| {
            let Observation::Definitions(files) = seen else { return None };
            Some(files)
        });
        seen?.get(path).map(Vec::as_slice)
    }
}

/// Whether the first line of a definition is new, and no removed line has its name: one that was replaced was there before.
fn adds_definition(lines: &FileLines<'_>, own: &DefinedName) -> bool {
    lines.is_added(own.first)
        && !lines.removed().any(|line| has_word(without_comment(line), &own.name))
}

/// Whether a definition has a name as it is written: `total()`, `Cart.total`, `shop::Cart::total`.
fn is_named(own: &DefinedName, name: &str) -> bool {
    let mut parts: Vec<&str> =
        bare(name).split(['.', ':', '#']).filter(|part| !part.is_empty()).collect();
    if parts.pop() != Some(own.name.as_str()) {
        return false;
    }
    let mut around = own.container.rsplit('.').filter(|part| !part.is_empty());
    parts.iter().rev().all(|part| around.next().is_none_or(|own| own == *part))
}

/// Whether a text is a name, and no part of a line.
fn is_identifier(name: &str) -> bool {
    bare(name).chars().all(|c| c.is_alphanumeric() || "_$.:#".contains(c))
}

fn bare(name: &str) -> &str {
    name.split_once('(').map_or(name, |(name, _)| name).trim_matches('`')
}

fn last_part(name: &str) -> &str {
    let name = bare(name);
    name.rsplit(['.', ':', '#']).next().unwrap_or(name)
}

/// Whether changed lines of a file have a name, or lines that enclose them.
fn changes_text(path: &str, history: &History<'_>, name: &str, adds: bool) -> bool {
    let has = |line: &str| match is_code(path) {
        // A call of a name, and a text, do not add what is called or said.
        true if adds => has_word(&without_texts_and_calls(without_comment(line)), name),
        true => has_word(without_comment(line), name),
        false => has_word(line, name),
    };
    let diffs = history.diffs().unwrap_or_default();
    diffs.into_iter().flat_map(|diff| diff.split("\n@@")).any(|hunk| {
        let lines: Vec<&str> = hunk.lines().collect();
        let with =
            |mark: char| lines.iter().filter(|line| line.starts_with(mark) && has(line)).count();
        // What stood there before was not added.
        if adds {
            return with('+') > with('-');
        }
        let changed = (0..lines.len()).filter(|at| lines[*at].starts_with(['+', '-']));
        changed.into_iter().any(|at| has(lines[at]) || enclosing(&lines[..=at]).any(&has))
    })
}

/// The lines of a hunk that enclose its last one: each is indented less than those below it.
fn enclosing<'h>(lines: &'h [&'h str]) -> impl Iterator<Item = &'h str> {
    let indentation = |line: &str| {
        let text = line.get(1..).unwrap_or_default();
        (!text.trim().is_empty()).then(|| text.len() - text.trim_start().len())
    };
    let mut below = lines.last().and_then(|line| indentation(line)).unwrap_or(0);
    lines.iter().rev().copied().filter(move |line| {
        let own = indentation(line).filter(|own| *own < below);
        below = own.unwrap_or(below);
        own.is_some()
    })
}

/// Whether a text has a name that is no part of a longer one.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + name.len()..]);
            let begins = !name.starts_with(is_part) || !before.ends_with(is_part);
            begins && (!name.ends_with(is_part) || !after.starts_with(is_part))
        })
}

/// A line of code without the texts in quotation marks and without the names before brackets.
fn without_texts_and_calls(line: &str) -> Cow<'_, str> {
    static PARTS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#""[^"]*"|'[^']*'|`[^`]*`|[\w.:]+\("#).expect("a pattern"));
    PARTS.replace_all(line, " ")
}

/// A line of code up to its comment. Of `#`, the marks of attributes and of preprocessors begin none.
fn without_comment(line: &str) -> &str {
    let begins = |(at, _): &(usize, char)| {
        let rest = &line[*at..];
        let is_mark =
            ["//", "/*", "--", "<!--", "\"\"\""].iter().any(|mark| rest.starts_with(mark));
        let is_attribute = |c: char| c == '[' || c == '!' || c.is_ascii_alphabetic();
        is_mark || rest.strip_prefix('#').is_some_and(|rest| !rest.starts_with(is_attribute))
    };
    line.char_indices().skip(1).find(begins).map_or(line, |(at, _)| &line[..at])
}
