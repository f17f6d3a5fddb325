//! Claims about files that the record refutes, and whose text may name something else.

use super::claim::Claim;
use super::claim_entry::without_notes;
use super::finding::Finding;
use super::observation::{Observation, ObservationQuery, Observations};
use super::recorded_changes::RecordedChanges;
use super::statement::{Meaning, means};
use crate::evidence::Verdict;
use kb_base::value::Json;

/// Number of changed files that a text is compared with.
const MOST_CHANGES: usize = 200;

/// A refuted claim is only doubted if its text may name something else than a file that the step changed.
pub(super) fn or_unclear(
    finding: Finding,
    claim: &Claim,
    recorded: &RecordedChanges<'_>,
    (seen, output): (&Observations, &Json),
) -> Finding {
    let Some(reason) = finding.reason.as_ref().filter(|_| finding.verdict == Verdict::Failed)
    else {
        return finding;
    };
    if let Some(key) = &claim.below {
        return Finding::inconclusive(format!(
            "{reason}; below `{key}` it can be about something else"
        ));
    }
    if claim.denied {
        return finding.doubted_as("was not done");
    }
    let query = ObservationQuery::Location(claim.path.clone());
    let exists =
        matches!(seen.get(&query), Some(Observation::Location(Ok(found))) if found.state.is_some());
    if exists || !recorded.history(&claim.path).is_empty() {
        return finding;
    }
    let text = &claim.text;
    let is_clear = is_clear_path(without_notes(text));
    let is_related = |path: &&str| match is_clear {
        true => may_name(without_notes(text), path),
        false => names_in_part(text, path),
    };
    // `{package: api, modified: [shop/stock.py]}`
    let is_below = |path: &&str| {
        let folder = path.strip_suffix(claim.path.as_str()).and_then(|f| f.strip_suffix('/'));
        folder.is_some_and(|folder| has_text(output, folder))
    };
    let mut changed = recorded.changed().take(MOST_CHANGES);
    let related = changed.find(|path| is_related(path) || is_below(path));
    match related {
        Some(path) => Finding::inconclusive(format!("{reason}; it may mean `{path}`")),
        None if !is_clear => Finding::inconclusive(format!("{reason}; `{text}` may be no path")),
        None => finding,
    }
}

/// Whether a key of an output has a text as its value.
fn has_text(output: &Json, text: &str) -> bool {
    let is_text = |value: &Json| {
        value.as_str().is_some_and(|own| own.trim_start_matches("./").trim_end_matches('/') == text)
    };
    output.as_object().is_some_and(|fields| fields.values().any(is_text))
}

/// Whether a text may name a file: `a/src/x.py`, `src/x.py@main`, `src.x` and `x.py` for `src/x.py`.
fn may_name(text: &str, path: &str) -> bool {
    fn words(text: &str) -> Vec<&str> {
        let parts = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
        parts.filter(|part| !part.is_empty()).collect()
    }
    let is_word = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let before = text.strip_suffix(path).map(|rest| !rest.ends_with(is_word));
    let behind = text.strip_prefix(path).map(|rest| !rest.starts_with(|c| is_word(c) || c == '/'));
    let (said, own) = (words(text), words(path));
    let is_part = || own.windows(said.len().max(1)).any(|part| part == said);
    before.or(behind).unwrap_or(false)
        || !text.contains('/') && is_part() && names_in_part(text, path)
}

/// Whether a text has the name of a file in it, with or without its ending.
pub(super) fn names_in_part(text: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
    !stem.is_empty() && parts.clone().any(|part| part == stem)
}

/// Whether a text is a path and nothing else, of usual characters. Words before an ending can be its name.
fn is_clear_path(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    let has_ending =
        name.rsplit_once('.').is_some_and(|(_, end)| end.chars().all(char::is_alphanumeric));
    let is_usual =
        |c: char| c.is_alphanumeric() || "._-+@~/".contains(c) || has_ending && " '".contains(c);
    text.chars().all(is_usual)
        && text.chars().any(char::is_alphanumeric)
        && !means(&text.to_lowercase(), Meaning::Nothing)
}
