//! Statements of an output that look like claims and that no other check reads: in sentences, and in keys at any depth.
//!
//! A key with its values is read as a sentence: `{files: [{path: a.py, action: created}]}` says `files path a.py action
//! created`. A statement that the record does not support makes the gate inconclusive; it refutes nothing.

use super::finding::Finding;
use super::keys::{is_key, words};
use super::normalized_path::normalized;
use super::omission::says_only;
use super::recorded_changes::RecordedChanges;
use super::recorded_runs::{CommandResult, RecordedRuns};
use super::runner::canonical;
use super::shell::Script;
use super::stated_act::Act;
use super::test_words::{of_sentences, without_quotes};
use crate::evidence::{Invocation, InvocationStatus};
use kb_base::value::Json;

/// Keys whose values are plans, texts of others, or read by another check.
const OTHERS: [&str; 18] = [
    "nochanges",
    "recommendations",
    "nextsteps",
    "suggestions",
    "plan",
    "todo",
    "quotes",
    "quote",
    "toolcalls",
    "pluginresults",
    "claims",
    "aftersnippet",
    "beforesnippet",
    "snippet",
    "context",
    "input",
    "commands",
    "commandresults",
];
/// Most statements that are read, and the bytes of one that are shown.
const LOOKED_AT: usize = 500;
const SHOWN: usize = 120;

/// Words for amounts that are not compared.
const LINES: &[&str] = &["lines", "insertion", "deletion", "строк", "zeilen"];
const AMOUNTS: &[&str] =
    &["all", "every", "both", "two", "three", "four", "five", "все", "каждый", "alle"];

/// What the record says about statements.
pub(super) struct Record<'r> {
    pub(super) changes: &'r RecordedChanges<'r>,
    pub(super) runs: &'r RecordedRuns<'r>,
    pub(super) trace: &'r [Invocation],
    pub(super) root: &'r str,
    /// Paths that claims name, which are checked by themselves.
    pub(super) claimed: Vec<&'r str>,
}

/// The doubt about the first statements that the record does not support; `None` if there are none.
pub(super) fn finding(output: &Json, record: &Record<'_>) -> Option<Finding> {
    let mut statements = Vec::new();
    collect(output, "", &mut statements);
    statements.truncate(LOOKED_AT);
    let unread = statements.iter().filter(|text| !record.supports(text));
    let shown: Vec<String> = unread.take(3).map(|text| format!("`{}`", short(text))).collect();
    (!shown.is_empty()).then(|| {
        Finding::inconclusive(format!("claims that cannot be checked: {}", shown.join(", ")))
    })
}

fn short(text: &str) -> String {
    let shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() { format!("{shown}…") } else { shown }
}

/// The statements of a value below the words of its keys.
fn collect(value: &Json, key: &str, found: &mut Vec<String>) {
    match value {
        // A word or two without a number or a path say nothing that can be compared, unless the key says what was done.
        Json::String(text) if is_short(text) => {
            if Act::of(key).is_some() || is_definite(text) {
                found.push(format!("{key} {text}").trim().to_owned());
            }
        }
        Json::String(text) => {
            let key = if Act::of(key).is_some() { key } else { "" };
            found
                .extend(clauses(text).iter().map(|text| format!("{key} {text}").trim().to_owned()));
        }
        Json::Bool(true) | Json::Number(_) => found.push(format!("{key} {value}")),
        Json::Array(items) => items.iter().for_each(|item| collect(item, key, found)),
        Json::Object(fields) => {
            let fields: Vec<_> = fields.iter().filter(|(key, _)| !is_key(key, &OTHERS)).collect();
            let is_flat = |value: &Json| value.as_str().is_some_and(is_short) || value.is_number();
            let is_entry = fields.len() > 1 && !key.is_empty();
            if is_entry {
                let flat = fields.iter().filter(|(_, value)| is_flat(value));
                let said =
                    flat.map(|(name, value)| format!("{} {}", name_of(name), text_of(value)));
                found.push(format!("{key} {}", said.collect::<Vec<_>>().join(" ")));
            }
            for (name, value) in fields.iter().filter(|(_, value)| !is_entry || !is_flat(value)) {
                collect(value, format!("{key} {}", name_of(name)).trim(), found);
            }
        }
        Json::Null | Json::Bool(false) => {}
    }
}

/// The words of a key; one that is a path stays as it is.
fn name_of(key: &str) -> String {
    if key.contains(['/', '.']) { key.to_owned() } else { words(key).join(" ") }
}

fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether a text is a value and no sentence.
fn is_short(text: &str) -> bool {
    text.split_whitespace().count() < 3 && !text.trim_end().ends_with(['.', '!'])
}

fn is_definite(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit() || c == '`') || !paths(text).is_empty()
}

/// The parts of a text without what it quotes, split at punctuation that ends a word.
fn clauses(text: &str) -> Vec<String> {
    let own = without_quotes(text);
    let mut all = vec![String::new()];
    let mut in_code = false;
    let mut chars = own.chars().peekable();
    while let Some(c) = chars.next() {
        in_code ^= c == '`';
        let ends = chars.peek().is_none_or(|next| next.is_whitespace());
        match c {
            '\n' => all.push(String::new()),
            '.' | '!' | '?' | ';' if ends && !in_code => all.push(String::new()),
            c => all.last_mut().into_iter().for_each(|clause| clause.push(c)),
        }
    }
    all.iter().map(|clause| clause.trim().to_owned()).filter(|clause| !clause.is_empty()).collect()
}

/// The texts in backticks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The words that are paths.
fn paths(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| c.is_whitespace() || "`\"'(),;<>[]{}|*".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', ':', '!', '?']));
    words.filter(|word| is_path(word)).collect()
}

fn is_path(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let has_extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        let length = if word.contains('/') { 1..=5 } else { 1..=4 };
        !stem.is_empty()
            && length.contains(&extension.len())
            && extension.chars().all(|c| c.is_ascii_alphanumeric())
            && extension.starts_with(|c: char| c.is_ascii_lowercase())
    });
    let is_folder = word.len() > 1 && word.ends_with('/');
    !word.contains("://") && !["e.g", "i.e"].contains(&word) && (has_extension || is_folder)
}

impl Record<'_> {
    /// Whether a statement states nothing about the step, or what the record shows.
    fn supports(&self, text: &str) -> bool {
        let Some(act) = Act::of(text) else { return true };
        if self.claimed.iter().any(|path| text.ends_with(path)) {
            return true;
        }
        let paths = paths(text);
        match act {
            Act::Created | Act::Changed | Act::Deleted | Act::Renamed if !paths.is_empty() => {
                paths.iter().all(|path| self.has_changed(path, act))
                    && !says(text, LINES)
                    && self.has_symbols(text)
            }
            Act::Created | Act::Changed | Act::Deleted | Act::Renamed => {
                self.changes.changed().any(|path| self.has_content(path))
                    && self.has_number_of_files(text)
                    && self.has_symbols(text)
            }
            // The check of omissions reads such a statement.
            Act::Only if says_only(text) => true,
            Act::Only => self
                .changes
                .changed()
                .all(|path| paths.iter().any(|named| is_same(path, named, self.root))),
            Act::Passed => !of_sentences(text).is_empty() || self.has_run(text, true),
            Act::Ran => self.has_run(text, false),
            Act::Failed => self.trace.iter().any(|call| {
                let code = call.process.as_ref().and_then(|process| process.exit_code);
                call.status != InvocationStatus::Success || code.is_some_and(|code| code != 0)
            }),
            Act::Read => !paths.is_empty() && paths.iter().all(|path| self.has_read(path)),
            Act::Committed => self.has_commit(),
            Act::Outside => false,
        }
    }

    fn has_changed(&self, path: &str, act: Act) -> bool {
        let folder = path.trim_end_matches('/').trim_start_matches("./");
        let mut known = self.changes.changed().filter(|changed| is_same(changed, path, self.root));
        let fits = |changed: &str| {
            let history = self.changes.history(changed);
            match act {
                Act::Created => history.before().is_none(),
                Act::Deleted => history.after().is_none(),
                _ => true,
            }
        };
        known.any(fits) || path.ends_with('/') && self.changes.differs_below(folder)
    }

    /// Whether a changed path was deleted, or has a content.
    fn has_content(&self, path: &str) -> bool {
        self.changes.history(path).after().is_none_or(|state| state.size > 0)
    }

    /// Whether a stated number is the one of the changed files. Other amounts are not compared.
    fn has_number_of_files(&self, text: &str) -> bool {
        let count = self.changes.changed().count();
        let mut numbers = text.split_whitespace().filter_map(|word| word.parse::<usize>().ok());
        !says(text, LINES) && !says(text, AMOUNTS) && numbers.all(|number| number == count)
    }

    /// Whether the recorded differences have the names in a statement: texts in backticks, and the values of keys such
    /// as `functionsAdded`.
    fn has_symbols(&self, text: &str) -> bool {
        let named = text.split_once(" added ").filter(|(kind, _)| {
            ["functions", "classes", "methods", "symbols", "tests"].contains(kind)
        });
        let code = code(text).filter(|text| !is_path(text));
        code.chain(named.map(|(_, name)| name)).all(|name| {
            self.changes.changed().any(|path| {
                let diffs = self.changes.history(path).diffs();
                diffs.is_some_and(|diffs| diffs.iter().any(|diff| diff.contains(name)))
            })
        })
    }

    /// Whether the commands in a text were recorded and exited with 0; a text without one says nothing
    /// that can be looked up.
    fn has_run(&self, text: &str, needs_success: bool) -> bool {
        let mut scripts =
            code(text).map(Script::of_text).filter(|s| !s.commands.is_empty()).peekable();
        let known = scripts.peek().is_some();
        let is_recorded = |argv: &[String]| {
            let wanted = canonical(argv);
            let mut used = self
                .runs
                .iter()
                .flat_map(|run| run.script.commands.iter().map(move |used| (run, used)));
            used.any(|(run, used)| {
                let is_same = canonical(&used.argv) == wanted;
                let succeeded = matches!(run.result(used), CommandResult::Succeeded);
                is_same && (succeeded || !needs_success && !says_success(text))
            })
        };
        known && scripts.all(|script| script.commands.iter().all(|used| is_recorded(&used.argv)))
    }

    fn has_read(&self, path: &str) -> bool {
        let is_named = |value: &Json| value.as_str().is_some_and(|text| text.contains(path));
        let reads = self.trace.iter().filter(|call| call.status == InvocationStatus::Success);
        let mut reads = reads.filter(|call| call.changes.is_empty());
        reads.any(|call| {
            ["path", "command", "script"]
                .iter()
                .any(|key| call.args.get(*key).is_some_and(is_named))
        })
    }

    /// Whether a commit was recorded, and no change after it.
    fn has_commit(&self) -> bool {
        let all =
            self.runs.iter().flat_map(|run| run.script.commands.iter().map(move |u| (run, u)));
        let mut commits = all.filter(|(run, used)| {
            let has = |word: &str| used.argv.iter().any(|argument| argument == word);
            has("git") && has("commit") && matches!(run.result(used), CommandResult::Succeeded)
        });
        let last_change = self.trace.iter().rposition(|call| !call.changes.is_empty());
        commits.any(|(run, _)| {
            let at = self.trace.iter().position(|call| call.id == run.call.id);
            last_change <= at
        })
    }
}

fn says(text: &str, starts: &[&str]) -> bool {
    let text = text.to_lowercase();
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|word| starts.iter().any(|start| word.starts_with(start)))
}

/// Whether a statement about a command says how it ended.
fn says_success(text: &str) -> bool {
    let text = text.to_lowercase();
    ["success", " 0", "успеш", "erfolg", "ohne fehler"].iter().any(|word| text.contains(word))
}

/// Whether a named path is a changed one. A name without a folder fits in any.
fn is_same(changed: &str, named: &str, root: &str) -> bool {
    let named = named.split_once(':').map_or(named, |(path, _)| path);
    let is_name = !named.contains('/') && changed.ends_with(&format!("/{named}"));
    is_name || changed == normalized(named, root)
}

#[cfg(test)]
mod tests {
    use super::collect;
    use crate::verify::stated_act::Act;
    use serde_json::json;

    #[test]
    fn keys_and_sentences_state_acts_and_plans_do_not() {
        for (output, expected) in [
            (json!({"result": {"updated": ["a.py"]}}), Some(Act::Changed)),
            (json!({"files": [{"path": "a.py", "action": "created"}]}), Some(Act::Created)),
            (json!({"renamed": {"a.py": "b.py"}}), Some(Act::Renamed)),
            (json!({"committed": true}), Some(Act::Committed)),
            (json!({"filesRead": ["a.py"]}), Some(Act::Read)),
            (json!({"summary": "Создан файл a.py."}), Some(Act::Created)),
            (json!({"summary": "a.py wurde angepasst."}), Some(Act::Changed)),
            (json!({"summary": "The server is running on port 8080."}), Some(Act::Outside)),
            (json!({"committed": false, "moved": []}), None),
            (json!({"nextSteps": ["a.py is changed"]}), None),
            (json!({"summary": "I did not create notes/tea.md."}), None),
            (json!({"summary": "The page says: \"I created a.py.\""}), None),
            (json!({"answer": "blue", "score": 5}), None),
        ] {
            let mut found = Vec::new();
            collect(&output, "", &mut found);
            assert_eq!(found.iter().find_map(|text| Act::of(text)), expected, "{output}");
        }
    }
}
