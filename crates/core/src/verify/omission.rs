//! Changes that an output leaves out: its lists must have all that the step changed, and `nothing else was changed`
//! must be true.

use super::claim::{Claim, denied_kinds, listed_kinds, missing_kinds};
use super::claim_kind::ClaimKind;
use super::finding::Finding;
use super::observation::{Observation, ObservationQuery, Observations};
use super::recorded_changes::RecordedChanges;
use super::statement::{Act, Meaning, Statement, is_function_word, means};
use super::unclear_claim::names_in_part;
use super::{call_claim, command_claim};
use crate::evidence::{Invocation, is_code};
use kb_base::value::Json;
use std::collections::{BTreeMap, BTreeSet};

/// Words that limit a statement to what the output names, in the order of the sentence.
const PHRASES: [&[&str]; 9] = [
    &["no", "other", "file"],
    &["no", "other", "files"],
    &["nothing", "else"],
    &["only", "these", "files"],
    &["only", "this", "file"],
    &["больше", "ничего", "не"],
    &["другие", "файлы", "не"],
    &["только", "эти", "файлы"],
    &["только", "этот", "файл"],
];

/// Number of changes, or texts, from which on none is looked for in part.
const MANY: usize = 500;

/// What the step changed and the output names nowhere.
pub(super) struct Coverage<'a> {
    /// The attempt of the last call.
    latest: Option<&'a str>,
    /// The calls that changed a path.
    calls: BTreeMap<&'a str, Vec<&'a Invocation>>,
    changes: &'a RecordedChanges<'a>,
    observations: &'a Observations,
    unnamed: Vec<&'a str>,
    /// The extensions of the changed files that the output names.
    named_extensions: BTreeSet<Option<&'a str>>,
    by_file_tools: usize,
    /// The changed files that a text of the output names in part.
    unclear: Vec<&'a str>,
    /// A file of which only the mode changed, and that the output does not name.
    mode: Option<&'a str>,
}

impl<'a> Coverage<'a> {
    pub(super) fn of(
        output: &Json,
        trace: &'a [Invocation],
        changes: &'a RecordedChanges<'a>,
        observations: &'a Observations,
    ) -> Coverage<'a> {
        let mut calls: BTreeMap<&str, Vec<&Invocation>> = BTreeMap::new();
        for call in trace {
            call.changes
                .iter()
                .for_each(|change| calls.entry(&change.path).or_default().push(call));
        }
        let (mut texts, mut of_commands) = (Vec::new(), Vec::new());
        collect_texts(output, &mut texts, &mut of_commands);
        let named = Named::of(&texts);
        let of = |path: &str| calls.get(path).map(Vec::as_slice).unwrap_or_default();
        let (names, unnamed): (Vec<&str>, Vec<&str>) =
            changes.changed().partition(|path| named.has(path, of(path)));
        let named_extensions = names.into_iter().map(extension).collect();
        // A command that names a file does not list it.
        let is_unclear =
            |path: &&str| texts.iter().chain(&of_commands).any(|text| names_in_part(text, path));
        let few = unnamed.len() < MANY && texts.len() < MANY;
        let unclear = unnamed.iter().copied().filter(|_| few).filter(is_unclear).collect();
        let by_tool = |path: &&str| of(path).iter().any(|call| call.process.is_none());
        let by_file_tools = changes.changed().filter(by_tool).count();
        let latest = trace.last().and_then(attempt);
        let is_mode = |path: &&str| {
            let history = changes.history(path);
            history.mode_changed() && history.is_same(true) == Some(true)
        };
        let mode = changes.paths().filter(is_mode).find(|path| !named.has(path, of(path)));
        Coverage {
            mode,
            unclear,
            latest,
            calls,
            changes,
            observations,
            unnamed,
            named_extensions,
            by_file_tools,
        }
    }

    /// Whether the step changed the mode alone of a file that the output does not name.
    pub(super) fn changes_mode(&self) -> bool {
        self.mode.is_some()
    }

    /// Whether the output names everything that the step changed.
    pub(super) fn is_complete(&self) -> bool {
        self.unnamed.is_empty()
    }

    /// Whether a file tool changed a path.
    pub(super) fn has_file_tool(&self, path: &str) -> bool {
        self.calls.get(path).is_some_and(|calls| calls.iter().any(|call| call.process.is_none()))
    }

    /// Number of changed files that a file tool changed.
    pub(super) fn by_file_tools(&self) -> usize {
        self.by_file_tools
    }

    /// What refutes or doubts that the output is complete. An output without lists and without such a statement
    /// is not said to be complete.
    pub(super) fn finding(
        &self,
        output: &Json,
        claims: &[Claim],
        statements: &[Statement],
    ) -> Option<Finding> {
        let mode =
            self.mode.filter(|_| self.unnamed.is_empty() && statements.iter().any(says_only));
        if let Some(path) = mode {
            return Some(Finding::inconclusive(format!(
                "the output says that nothing else was changed, but the step changed the mode of `{path}`"
            )));
        }
        let of = |is: &dyn Fn(&str) -> bool| self.unnamed.iter().find(|path| is(path));
        let meant =
            of(&|path| self.by_file_tool(path)).or_else(|| of(&|path| self.is_code_meant(path)));
        let Some(path) = meant.or(self.unnamed.first()) else {
            return self.denied(output, claims);
        };
        let says_all = |said: &&Statement| says_only(said);
        if let Some(first) = statements.iter().find(says_all) {
            // An exception without a path can be any file.
            let excepts = |said: &Statement| {
                said.sentence.has(Meaning::Except) && said.sentence.paths().is_empty()
            };
            let all_except = excepts(first) && statements.iter().filter(says_all).all(excepts);
            let reason = format!(
                "the output says that nothing else was changed, but the step changed `{path}`"
            );
            return Some(
                match (self.by_file_tool(path) || self.is_code_meant(path))
                    && !self.unclear.contains(path)
                    && !all_except
                {
                    true => Finding::failed(format!("{reason}, which the output does not name")),
                    false => Finding::inconclusive(format!(
                        "{reason}, which only an earlier attempt wrote, a command as a by-product, or a text names in part or means by an exception"
                    )),
                },
            );
        }
        let (kinds, missing) = (listed_kinds(output, claims), missing_kinds(output));
        if kinds.is_empty() && missing.is_empty() {
            return None;
        }
        let denied = || self.denied(output, claims);
        let is_listed = |path: &&&str| {
            let listed = kinds.contains(&self.kind(path))
                && !self.is_beside_code(path)
                && !self.unclear.contains(*path);
            listed && self.by_file_tool(path)
        };
        // `created: []` alone says nothing about what was modified.
        let by_command = |path: &&&str| {
            let kind = self.kind(path);
            let is_listed = kinds.contains(&kind) || missing.contains(&kind);
            self.is_meant(path) && (!claims.is_empty() || is_listed)
        };
        let refuted = self.unnamed.iter().find(is_listed);
        let Some(path) = refuted.or_else(|| self.unnamed.iter().find(by_command)) else {
            return denied();
        };
        let reason = format!("the step changed `{path}`, and no list of the output has it");
        Some(match refuted {
            Some(_) => {
                Finding::failed(format!("{reason}; list every file that was {}", self.kind(path)))
            }
            None => Finding::inconclusive(reason),
        })
    }

    /// The doubt about an empty list beside a change of its kind, which the output names elsewhere only, such as among the
    /// files that were read.
    fn denied(&self, output: &Json, claims: &[Claim]) -> Option<Finding> {
        let kinds = denied_kinds(output);
        let is_denied = |path: &&str| {
            let is_claimed = claims.iter().any(|claim| claim.path == **path);
            let of_all = kinds.contains(&ClaimKind::Changed);
            (self.is_meant(path) || self.is_new_file(path))
                && (of_all || kinds.contains(&self.kind(path)) && !is_claimed)
        };
        let path = self.changes.changed().find(is_denied)?;
        Some(Finding::inconclusive(format!(
            "the step changed `{path}`, and an empty list of the output says that there was nothing of its kind"
        )))
    }

    /// Whether a file tool of the last attempt changed a path. A report of a rework can mean its own attempt.
    fn by_file_tool(&self, path: &str) -> bool {
        self.own(path).any(|call| call.process.is_none())
    }

    /// Whether the last attempt changed a file of code that people write, and not as a by-product: a new one is work if it
    /// has the extension of a changed file that the output names.
    fn is_code_meant(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_like_work = || self.named_extensions.contains(&extension(path));
        let existed = self.changes.history(path).before().is_some();
        is_code(path)
            && is_written_by_hand(name)
            && self.is_meant(path)
            && (existed || is_like_work())
    }

    /// Whether a change is no by-product: a file tool made it, or a command that names the file or changed an old one.
    fn is_meant(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        let existed = self.changes.history(path).before().is_some();
        self.own(path).any(|call| {
            let text = call.args.get("command").map(Json::to_string).unwrap_or_default();
            call.process.is_none() || existed && is_written_by_hand(name) || text.contains(name)
        })
    }

    /// Whether a file is new that no program keeps for itself, such as what a generator writes.
    fn is_new_file(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        self.kind(path) == ClaimKind::Created
            && is_written_by_hand(name)
            && !self.changes.is_cache(path)
    }

    /// The calls of the last attempt that changed a path.
    fn own(&self, path: &str) -> impl Iterator<Item = &&'a Invocation> {
        let calls = self.calls.get(path).map(Vec::as_slice).unwrap_or_default();
        calls.iter().filter(|call| attempt(call) == self.latest)
    }

    /// Whether a path is a document or excluded by ignore rules: reports of code often leave such files out.
    fn is_beside_code(&self, path: &str) -> bool {
        let query = ObservationQuery::Ignored(path.to_owned());
        !is_code(path) || self.observations.get(&query) == Some(&Observation::Ignored(true))
    }

    fn kind(&self, path: &str) -> ClaimKind {
        let history = self.changes.history(path);
        match (history.before(), history.after()) {
            (None, _) => ClaimKind::Created,
            (_, None) => ClaimKind::Deleted,
            _ => ClaimKind::Modified,
        }
    }
}

fn extension(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(_, end)| end)
}

/// Whether a file is none that programs keep up to date, such as a lock file.
fn is_written_by_hand(name: &str) -> bool {
    !name.contains("lock") && !name.ends_with(".sum") && !name.ends_with(".snap")
}

/// Whether a statement says that nothing else was changed, everywhere: one about a part of the project, or about
/// what has to be done, says something else.
pub(super) fn says_only(said: &Statement) -> bool {
    let words = &said.sentence.words;
    let places = PHRASES.iter().filter_map(|phrase| {
        let at = words.windows(phrase.len()).position(|part| part == *phrase)?;
        Some(at..at + phrase.len())
    });
    said.act == Some(Act::Only)
        && (names_all(said)
            || places.into_iter().any(|place| {
                let mut others = words.iter().enumerate().filter(|(at, _)| !place.contains(at));
                let otherwise =
                    |word: &str| means(word, Meaning::Unreal) || means(word, Meaning::Limited);
                others.all(|(_, word)| !otherwise(word))
            }))
}

/// Whether a sentence says that only the files that it names were changed: `Only src/a.rs was modified.`
pub(super) fn names_all(said: &Statement) -> bool {
    let is_plain = |word: &String| {
        is_function_word(word)
            || means(word, Meaning::Change)
            || means(word, Meaning::Files)
            || ["only", "nur", "только"].contains(&word.as_str())
    };
    let words = &said.sentence.words;
    !said.sentence.paths().is_empty() && words.iter().all(is_plain)
}

/// All texts and keys of an output, and those of its commands and calls.
fn collect_texts<'v>(value: &'v Json, texts: &mut Vec<&'v str>, of_commands: &mut Vec<&'v str>) {
    match value {
        Json::String(text) => texts.push(text),
        Json::Array(items) => {
            items.iter().for_each(|item| collect_texts(item, texts, of_commands));
        }
        Json::Object(fields) => {
            for (key, value) in fields {
                if command_claim::is_read(key) || call_claim::is_read(key) {
                    let mut inner = Vec::new();
                    collect_texts(value, of_commands, &mut inner);
                    of_commands.extend(inner);
                } else {
                    texts.push(key);
                    collect_texts(value, texts, of_commands);
                }
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// The number of the attempt in the id of a call of a specialist, or of the process of a coding agent.
fn attempt(call: &Invocation) -> Option<&str> {
    let id = call.id.strip_prefix("call_").or_else(|| call.id.strip_prefix("agent_"));
    id?.split('_').next()
}

/// The names, folders and patterns in the texts of an output.
struct Named<'t> {
    texts: &'t [&'t str],
    words: BTreeSet<&'t str>,
    names: BTreeSet<&'t str>,
    has_pattern: bool,
}

impl<'t> Named<'t> {
    fn of(texts: &'t [&'t str]) -> Named<'t> {
        let parts = texts
            .iter()
            .flat_map(|text| text.split(|c: char| c.is_whitespace() || "`\"'(),;:".contains(c)));
        let words = parts.map(|word| word.trim_end_matches('.').trim_start_matches("./"));
        let words: BTreeSet<&str> = words.map(|word| word.trim_end_matches('/')).collect();
        let names = words.iter().filter_map(|word| word.rsplit('/').next()).collect();
        let has_pattern = words.iter().any(|word| word.contains('*'));
        Named { texts, words, names, has_pattern }
    }

    /// Whether a path is named in any form: its file name, the name that a call wrote it by, a folder above it, or a
    /// pattern.
    fn has(&self, path: &str, calls: &[&Invocation]) -> bool {
        let name = |path: &'_ str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let written_as =
            calls.iter().filter_map(|call| call.args.get("path").and_then(Json::as_str));
        let mut names = std::iter::once(name(path)).chain(written_as.map(name));
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        self.has_pattern
            || folders.into_iter().any(|folder| self.words.contains(folder))
            || names.any(|name| {
                // Names with spaces and the like stand in no single word.
                let apart = name.contains(|c: char| !c.is_alphanumeric() && !"._-".contains(c));
                self.names.contains(name.trim_end_matches('.'))
                    || apart && self.texts.iter().any(|text| text.contains(name.as_str()))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::super::statement::statements;
    use super::says_only;
    use serde_json::json;

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
            let found = statements(&json!({ "summary": summary }), &|_, _| false);
            assert_eq!(found.iter().any(says_only), expected, "{summary}");
        }
    }
}
