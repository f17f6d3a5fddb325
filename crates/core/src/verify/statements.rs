//! Statements in the summary of an output: `I created PATH`, and that the work is done.
//!
//! A summary is prose, so only what says something definite counts: the first person, a verb of change
//! in the past, and the path after it.

use super::normalized_path::normalized;
use super::observation::{Observation, ObservationQuery, Observations};
use super::recorded_changes::RecordedChanges;
use crate::evidence::FileKind;
use kb_base::value::Json;

/// Maximum length of a summary that is read, in bytes, and of statements in it.
const READ: usize = 20_000;
const STATED: usize = 50;

/// Verbs of a change after which the path follows.
const VERBS: [&str; 13] = [
    "created",
    "wrote",
    "added",
    "updated",
    "modified",
    "edited",
    "changed",
    "rewrote",
    "implemented",
    "fixed",
    "refactored",
    "extended",
    "corrected",
];
/// Words between the verb and the path.
const FILLERS: [&str; 8] = ["the", "a", "new", "file", "files", "module", "script", "both"];
/// Words before the verb in a sentence in the first person.
const SUBJECTS: [&str; 8] = ["i", "i've", "have", "and", "then", "also", "successfully", "just"];
/// Words that make a statement something else: a denial, a wish, or the work of others.
const DOUBTS: [&str; 21] = [
    "not",
    "never",
    "no",
    "cannot",
    "can't",
    "couldn't",
    "didn't",
    "haven't",
    "wasn't",
    "could",
    "should",
    "would",
    "will",
    "if",
    "already",
    "previously",
    "before",
    "earlier",
    "instead",
    "else",
    "unless",
];
/// The paths that a summary says the step created or changed.
pub(super) fn stated_paths(output: &Json, root: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for sentence in sentences(&summary(output)) {
        found.extend(of_sentence(&sentence).into_iter().map(|path| normalized(&path, root)));
    }
    found.dedup();
    found.truncate(STATED);
    found
}

/// The first stated path that no recorded call changed, if the record would have shown it.
pub(super) fn refuted<'p>(
    stated: &'p [String],
    changes: &RecordedChanges<'_>,
    observations: &Observations,
) -> Option<&'p str> {
    if changes.gap().is_some() {
        return None;
    }
    let is_recorded = |path: &str| {
        let below = format!("/{path}");
        changes.paths().any(|changed| changed == path || changed.ends_with(&below))
    };
    let is_known = |path: &&String| {
        let Some(Observation::Location(Ok(found))) =
            observations.get(&ObservationQuery::Location((*path).clone()))
        else {
            return false;
        };
        let target = found.target.as_ref().map(|(target, _)| target.as_str());
        let is_file = found.state.as_ref().is_none_or(|state| state.kind == FileKind::File);
        let elsewhere = is_recorded(&found.entry) || target.is_some_and(is_recorded);
        is_file && !found.ignored && !elsewhere
    };
    stated.iter().filter(|path| !is_recorded(path)).find(is_known).map(String::as_str)
}

/// The part of the summary that is read.
pub(super) fn summary(output: &Json) -> String {
    let text = output.get("summary").and_then(Json::as_str).unwrap_or_default();
    let end = (0..=text.len().min(READ)).rev().find(|end| text.is_char_boundary(*end));
    text[..end.unwrap_or_default()].to_owned()
}

/// A part of a sentence: a word, or a text in backticks.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    Word(String),
    Quoted(String),
}

fn sentences(text: &str) -> Vec<Vec<Part>> {
    let (mut all, mut sentence) = (Vec::new(), Vec::new());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first == '`' {
            let quoted = rest[1..].split('`').next().unwrap_or_default();
            sentence.push(Part::Quoted(quoted.to_owned()));
            rest = rest.get(quoted.len() + 2..).unwrap_or_default();
            continue;
        }
        if first.is_whitespace() || first == ',' {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let end = rest.find(|c: char| c.is_whitespace() || c == '`' || c == ',');
        let word = &rest[..end.unwrap_or(rest.len())];
        rest = &rest[word.len()..];
        let ends = word.ends_with(['.', '!', '?', ';', ':']);
        let bare = word.trim_matches(|c| "\"'()[]{}<>.!?;:*".contains(c));
        if !bare.is_empty() {
            sentence.push(Part::Word(bare.to_owned()));
        }
        if ends || rest.starts_with('\n') {
            all.push(std::mem::take(&mut sentence));
        }
    }
    all.push(sentence);
    all
}

/// The paths after verbs of change in a sentence in the first person without a doubt.
fn of_sentence(sentence: &[Part]) -> Vec<String> {
    let word = |part: &Part| match part {
        Part::Word(word) => word.to_lowercase().replace('\u{2019}', "'"),
        Part::Quoted(_) => String::new(),
    };
    let words: Vec<String> = sentence.iter().map(word).collect();
    let first_person = words.first().is_some_and(|word| ["i", "i've"].contains(&word.as_str()));
    if !first_person || words.iter().any(|word| DOUBTS.contains(&word.as_str())) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for at in 1..words.len() {
        let is_verb = VERBS.contains(&words[at].as_str());
        if !is_verb || !SUBJECTS.contains(&words[at - 1].as_str()) {
            continue;
        }
        let is_filler = |at: usize| FILLERS.contains(&words[at].as_str());
        let mut next = (at + 1..words.len()).find(|at| !is_filler(*at)).unwrap_or(words.len());
        while let Some(path) = sentence.get(next).and_then(path) {
            found.push(path.to_owned());
            next += 1 + usize::from(words.get(next + 1).is_some_and(|word| word == "and"));
        }
    }
    found
}

/// A path: with a folder and a file name extension.
fn path(part: &Part) -> Option<&str> {
    let (Part::Word(text) | Part::Quoted(text)) = part;
    let name = text.rsplit('/').next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    let is_extension = (1..=5).contains(&extension.len())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.starts_with(|c: char| c.is_ascii_lowercase());
    let is_path = text.contains('/') && !text.contains("://") && !text.contains(['\n', '*']);
    (is_path && is_extension && !stem.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_definite_statements_in_the_first_person_count() {
        for (summary, expected) in [
            ("I created `src/a.rs` and updated `src/b c.rs`.", &["src/a.rs", "src/b c.rs"][..]),
            (
                "I've added the new file src/a.rs, lib/b.py and c/d.ts.",
                &["src/a.rs", "lib/b.py", "c/d.ts"],
            ),
            ("Done. I have fixed src/a.rs!", &["src/a.rs"]),
            ("Added `src/a.rs`.", &[]),
            ("The implementer created `src/a.rs`.", &[]),
            ("I have not created `src/a.rs`.", &[]),
            ("I would have created `src/a.rs`.", &[]),
            ("I fixed the bug in `src/a.rs`.", &[]),
            ("I saw that Anna created `src/a.rs`.", &[]),
            ("I updated https://x.org/a/b.html and a.rs.", &[]),
            ("I created `src/*.rs`.", &[]),
        ] {
            assert_eq!(stated_paths(&json!({ "summary": summary }), "/w"), expected, "{summary}");
        }
    }
}
