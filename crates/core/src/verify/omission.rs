//! Statements of a summary that the step changed nothing but what the output names: `no other files
//! were changed`, `only these files were changed`, «больше ничего не изменено».
//!
//! A statement counts only if its sentence says what *was* changed, everywhere: one about a part of the
//! project, or about what has to be done, says something else.

use super::finding::Finding;
use super::recorded_changes::RecordedChanges;
use super::statements::summary;
use crate::evidence::Invocation;
use kb_base::value::Json;

/// Words that limit the statement, each list in the order of the sentence.
const LIMITS: [&[&str]; 9] = [
    &["no", "other", "file"],
    &["no", "other", "files"],
    &["nothing", "else"],
    &["only", "these", "files"],
    &["only", "this", "file"],
    &["больше", "ничего"],
    &["другие", "файлы", "не"],
    &["только", "эти", "файлы"],
    &["только", "этот", "файл"],
];
/// Beginnings of verbs of change in the past.
const CHANGES: [&str; 12] = [
    "changed",
    "modified",
    "touched",
    "edited",
    "created",
    "deleted",
    "written",
    "измен",
    "созда",
    "удал",
    "тронут",
    "трогал",
];
/// Words that make the statement one about a part, a time, an actor or a duty.
const OTHERWISE: [&str; 24] = [
    "in",
    "inside",
    "within",
    "under",
    "since",
    "now",
    "by",
    "not",
    "if",
    "to",
    "should",
    "must",
    "need",
    "needs",
    "needed",
    "will",
    "would",
    "в",
    "внутри",
    "сейчас",
    "теперь",
    "нужно",
    "надо",
    "если",
];

/// What refutes a statement that nothing else was changed, or makes it doubtful; `None` if there is no
/// such statement or the record agrees with it.
pub(super) fn finding(
    output: &Json,
    trace: &[Invocation],
    changes: &RecordedChanges<'_>,
) -> Option<Finding> {
    if !says_only(&summary(output)) {
        return None;
    }
    let mut named = Vec::new();
    collect_texts(output, &mut named);
    let omitted: Vec<&str> =
        changes.changed().filter(|path| !is_named(path, &named, trace)).collect();
    // A report of a rework can mean its own attempt.
    let latest = trace.last().and_then(attempt);
    let by_file_tool = |path: &&&str| {
        let mut calls = changes_of(path, trace);
        calls.any(|call| call.process.is_none() && attempt(call) == latest)
    };
    let written = omitted.iter().find(by_file_tool);
    let path = written.or(omitted.first())?;
    let reason =
        format!("the summary says that nothing else was changed, but the step changed `{path}`");
    Some(match written {
        Some(_) => Finding::failed(format!("{reason}, which the output does not name")),
        None => Finding::inconclusive(format!(
            "{reason}, which only a command or an earlier attempt wrote"
        )),
    })
}

/// Whether a text says that nothing else was changed.
pub(super) fn says_only(summary: &str) -> bool {
    let lower = summary.to_lowercase();
    lower.split(['.', '!', '?', ';', '\n']).any(|sentence| {
        let words: Vec<&str> = sentence
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let is_limited =
            LIMITS.iter().any(|limit| words.windows(limit.len()).any(|part| part == *limit));
        let is_changed = words.iter().any(|word| CHANGES.iter().any(|verb| word.starts_with(verb)));
        is_limited && is_changed && !words.iter().any(|word| OTHERWISE.contains(word))
    })
}

/// All texts and keys of an output.
fn collect_texts<'v>(value: &'v Json, texts: &mut Vec<&'v str>) {
    match value {
        Json::String(text) => texts.push(text),
        Json::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Json::Object(fields) => {
            for (key, value) in fields {
                texts.push(key);
                collect_texts(value, texts);
            }
        }
        _ => {}
    }
}

/// The number of the attempt in the id of a call of a specialist.
fn attempt(call: &Invocation) -> Option<&str> {
    call.id.strip_prefix("call_")?.split('_').next()
}

/// The calls that changed a path.
fn changes_of<'t>(path: &str, trace: &'t [Invocation]) -> impl Iterator<Item = &'t Invocation> {
    trace.iter().filter(move |call| call.changes.iter().any(|change| change.path == path))
}

/// Whether the output names a path in any form: its file name, the name that a call wrote it by, a
/// folder above it, or a pattern.
fn is_named(path: &str, named: &[&str], trace: &[Invocation]) -> bool {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let written_as = changes_of(path, trace)
        .filter_map(|call| call.args.get("path").and_then(Json::as_str).map(name));
    let names: Vec<String> = std::iter::once(name(path)).chain(written_as).collect();
    let is_above = |text: &str| {
        let folder = text.trim().trim_start_matches("./").trim_end_matches('/');
        !folder.is_empty() && path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    };
    let mentions = |text: &str| {
        let words = text.split(|c: char| c.is_whitespace() || "`\"'(),;:".contains(c));
        let mut words = words.map(|word| word.trim_end_matches('.'));
        names.iter().any(|name| text.contains(name.as_str()))
            || words.any(|word| word.contains('*') || is_above(word))
    };
    named.iter().any(|text| mentions(text))
}

#[cfg(test)]
mod tests {
    use super::says_only;

    #[test]
    fn only_statements_about_all_changes_that_were_made_count() {
        for (summary, expected) in [
            ("Done. No other files were changed.", true),
            ("Fixed the bug; nothing else was touched.", true),
            ("Only these files were modified: a.rs.", true),
            ("Исправлено. Больше ничего не изменено.", true),
            ("Nothing else was changed in src/a.rs.", false),
            ("Nothing else has to be changed.", false),
            ("No other files use it.", false),
            ("Not only these files were changed.", false),
            ("No other files were found.", false),
        ] {
            assert_eq!(says_only(summary), expected, "{summary}");
        }
    }
}
