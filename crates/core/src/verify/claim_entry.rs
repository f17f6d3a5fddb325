//! How the entries of an output name paths and changes.

use super::claim_kind::ClaimKind;
use super::keys::{entries, field, is_key, words};
use super::statement::{Act, Meaning, is_path, means};
use kb_base::value::Json;

/// A path without what reports add to it: `x.py (new)`, `x.py:6`, `[x.py](x.py)`, `M x.py`, `x.py - why`.
pub(super) fn without_notes(path: &str) -> &str {
    let mut path = path.trim();
    if let Some((name, _)) = path.strip_prefix('[').and_then(|rest| rest.split_once("](")) {
        path = name;
    }
    path = path.trim_matches('`');
    for mark in ["A ", "M ", "D ", "+ ", "- "] {
        path = path.strip_prefix(mark).unwrap_or(path);
    }
    let is_file = |text: &str| text.contains(['.', '/']) && !text.contains(' ');
    for separator in [" (", " - ", " – ", " — ", ": "] {
        let name = path.split_once(separator).map(|(name, _)| name.trim_matches('`'));
        path = name.filter(|name| is_file(name)).unwrap_or(path);
    }
    let line = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '-' || c == ':')
    };
    match path.split_once(':') {
        Some((name, lines)) if line(lines) && is_file(name) => name,
        _ => path,
    }
}

/// The kind of change that a mark before a path says, as git writes it.
pub(super) fn marked_as(path: &str) -> Option<ClaimKind> {
    match path.trim().split_once(' ')?.0 {
        "A" => Some(ClaimKind::Created),
        "M" => Some(ClaimKind::Modified),
        "D" => Some(ClaimKind::Deleted),
        _ => None,
    }
}

/// Whether the text around a path says more than the mark of a change, such as `M`.
pub(super) fn has_notes(text: &str, path: &str) -> bool {
    let rest = text.replacen(path, "", 1);
    let rest = rest.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    rest.filter(|word| !["A", "M", "D"].contains(word)).any(|word| !path.contains(word))
}

/// Whether a note says that something was not done, or is a plan: `unchanged`, `not run`, `planned`.
pub(super) fn denies(note: &str) -> bool {
    let mut words = note.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let is_denial = |word: &str| {
        [Meaning::Nothing, Meaning::Unreal, Meaning::Denial, Meaning::Act(Act::Kept)]
            .iter()
            .any(|meaning| means(word, *meaning))
    };
    words.any(|word| !word.is_empty() && is_denial(&word))
}

/// Whether a field of an entry says that what the entry names was not done: `executed: false`, `status: not run`. What it
/// names, and texts of files, are no such fields.
pub(super) fn is_denied(entry: &Json) -> bool {
    const OTHERS: &[&str] = &[
        "file",
        "path",
        "filepath",
        "filename",
        "name",
        "tool",
        "command",
        "cmd",
        "argv",
        "run",
        "args",
        "arguments",
        "input",
        "params",
        "anchor",
        "aftersnippet",
        "beforesnippet",
        "snippet",
        "inserted",
        "data",
        "output",
    ];
    let fields = entry.as_object().into_iter().flatten();
    let mut fields = fields.filter(|(key, _)| !is_key(key, OTHERS));
    fields.any(|(key, value)| match value {
        Json::Bool(false) => !is_key(key, &["success", "ok"]),
        Json::Bool(true) => denies(&words(key).join(" ")),
        Json::Null => is_key(key, &["exitcode", "exit", "code"]),
        Json::String(text) => denies(text),
        Json::Number(_) | Json::Array(_) | Json::Object(_) => false,
    })
}

/// Whether a field of an entry tells of a failure: `note: fails as expected`, `failed: true`.
pub(super) fn tells_failure(entry: &Json) -> bool {
    let mut fields = entry.as_object().into_iter().flatten();
    fields.any(|(key, value)| match value {
        Json::Bool(true) => says_failure(&words(key).join(" ")),
        Json::String(text) => {
            !is_key(key, &["command", "cmd", "argv", "run"]) && says_failure(text)
        }
        Json::Null | Json::Bool(false) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
            false
        }
    })
}

/// Whether a note has a word for a failure, or an exit code that is not 0.
pub(super) fn says_failure(note: &str) -> bool {
    let words: Vec<String> = note
        .split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty())
        .collect();
    let is_code = |word: &String| word.parse::<u64>().is_ok_and(|code| code != 0);
    words.iter().any(|word| means(word, Meaning::Act(Act::Failed)))
        || words.windows(2).any(|pair| pair[0] == "exit" && is_code(&pair[1]))
        || words.windows(3).any(|part| part[0] == "exit" && part[1] == "code" && is_code(&part[2]))
}

/// The kind of change that an entry names: `{path: a.rs, changeType: delete}`.
pub(super) fn kind_of_change(entry: &Json) -> Option<ClaimKind> {
    match name_of_change(entry).as_slice() {
        [word] => ClaimKind::of_word(word),
        _ => None,
    }
}

/// The words of the kind of change that an entry names.
pub(super) fn name_of_change(entry: &Json) -> Vec<String> {
    let keys = ["action", "kind", "type", "change", "changetype", "operation", "status"];
    field(entry, &keys).and_then(Json::as_str).map(words).unwrap_or_default()
}

/// The kind of an entry of a list of edits. A word for any change says no more than the list.
pub(super) fn changed_as(entry: &Json) -> Option<ClaimKind> {
    kind_of_change(entry).filter(|kind| *kind != ClaimKind::Changed)
}

/// The pairs of a list of renamed files: `{from, to}`, `{OLD: NEW}` and `OLD -> NEW`.
pub(super) fn renames(value: &Json) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for entry in entries(value) {
        if let Some(text) = entry.as_str() {
            let parts = [" -> ", " → ", " => "].iter().find_map(|arrow| text.split_once(arrow));
            found.extend(parts.map(|(from, to)| (from.trim(), to.trim())));
            continue;
        }
        let text = |names: &[&str]| field(entry, names).and_then(Json::as_str);
        if let Some([from, to]) = entry.as_array().map(Vec::as_slice) {
            found.extend(from.as_str().zip(to.as_str()));
            continue;
        }
        match (
            text(&["from", "old", "oldpath", "source"]),
            text(&["to", "new", "newpath", "path", "target"]),
        ) {
            (Some(from), Some(to)) => found.push((from, to)),
            _ => {
                let fields = entry.as_object().into_iter().flatten();
                found.extend(fields.filter_map(|(from, to)| Some((from.as_str(), to.as_str()?))));
            }
        }
    }
    found.retain(|(from, to)| is_path(from) && is_path(to));
    found
}

/// The entries of a list of paths, each with its path.
pub(super) fn paths_in(value: &Json) -> Vec<(&Json, &str)> {
    const NAMED: &[&str] = &["file", "path", "filepath", "filename", "name"];
    entries(value)
        .filter_map(|entry| match entry {
            Json::String(path) => Some((entry, path.as_str())),
            entry => Some((entry, field(entry, NAMED)?.as_str()?)),
        })
        .collect()
}
