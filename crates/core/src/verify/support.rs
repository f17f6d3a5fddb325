//! What the record says about a statement: it shows it, leaves it open, or refutes it.
//!
//! A statement is compared only with what the record can show: paths, numbers of files and lines, names in
//! files, commands, results of tests and commits.

use super::normalized_path::normalized;
use super::observation::{Observation, ObservationQuery, Observations};
use super::omission::{Coverage, names_all};
use super::recorded_changes::RecordedChanges;
use super::recorded_runs::RecordedRuns;
use super::runner::TestCommands;
use super::statement::{Act, LineChange, Meaning, Sentence, Statement, means};
use crate::evidence::FileState;
use crate::evidence::Invocation;
use kb_language::toolspec::ToolCatalog;

/// Most names of statements that are looked up in files.
pub(super) const NAMES: usize = 30;

/// What the record says about statements.
pub(super) struct Record<'r> {
    pub(super) changes: &'r RecordedChanges<'r>,
    pub(super) runs: &'r RecordedRuns<'r>,
    pub(super) tests: &'r TestCommands,
    pub(super) trace: &'r [Invocation],
    pub(super) observations: &'r Observations,
    pub(super) root: &'r str,
    pub(super) tools: &'r ToolCatalog,
    /// Paths that claims name, which are checked by themselves.
    pub(super) claimed: Vec<&'r str>,
    pub(super) coverage: &'r Coverage<'r>,
    /// Whether the output claims that tests passed, which is checked by itself.
    pub(super) claims_tests: bool,
}

/// What the record says about one statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Support {
    /// It shows it, or the statement says nothing about the step.
    Shown,
    Open,
    /// It shows something else, with the reason.
    Refuted(String),
}

impl Support {
    fn shown_if(shown: bool) -> Support {
        if shown { Support::Shown } else { Support::Open }
    }
}

/// The queries for names that statements say to be in files.
pub(super) fn name_queries(statements: &[Statement], root: &str) -> Vec<ObservationQuery> {
    let about = statements.iter().filter(|said| said.act.is_some_and(is_content));
    let queries = about.flat_map(|said| {
        let sentence = &said.sentence;
        let paths = sentence.paths().into_iter();
        paths.flat_map(move |path| {
            sentence
                .names()
                .into_iter()
                .map(move |name| name_query(path, name, root))
                .collect::<Vec<_>>()
        })
    });
    queries.take(NAMES).collect()
}

fn name_query(path: &str, name: &str, root: &str) -> ObservationQuery {
    let count = Some(regex::escape(name.trim_end_matches("()")));
    ObservationQuery::Files { pattern: normalized(path, root), count }
}

/// Words of keys whose number of files is compared strictly.
const COUNTED: [&str; 5] = ["changed", "modified", "created", "deleted", "edited"];

fn is_content(act: Act) -> bool {
    matches!(act, Act::Created | Act::Changed | Act::Renamed | Act::Deleted | Act::Contains)
}

impl Record<'_> {
    /// What the record says about a statement.
    pub(super) fn supports(&self, said: &Statement) -> Support {
        let Some(act) = said.act else { return Support::Shown };
        let sentence = &said.sentence;
        let is_claim = said.in_key && !matches!(act, Act::Kept | Act::Read);
        let text = sentence.text.trim_end_matches('/');
        if is_claim && self.claimed.iter().any(|path| text.ends_with(path.trim_end_matches('/'))) {
            return Support::Shown;
        }
        let shown = match act {
            Act::Kept => return self.has_kept(sentence),
            Act::Created | Act::Changed | Act::Deleted | Act::Renamed => {
                let moved = || act != Act::Renamed || self.has_pairs(&sentence.paths());
                return match self.quantities(said, act) {
                    Support::Shown => Support::shown_if(self.has_files(sentence, act) && moved()),
                    other => other,
                };
            }
            Act::Contains => {
                let names = sentence.names();
                let paths = sentence.paths();
                let changed: Vec<&str> =
                    paths.into_iter().filter(|path| self.has_changed(path, sentence)).collect();
                changed.is_empty() || names.iter().all(|name| self.has_name(name, &changed))
            }
            Act::Digest => self.has_digest(sentence),
            Act::Only => {
                let paths = sentence.paths();
                let is_in = |own: &str| paths.iter().any(|path| self.is_same(own, path));
                self.coverage.is_complete()
                    && (!names_all(said) || self.changes.changed().all(is_in))
            }
            Act::Passed => self.has_passed(sentence),
            Act::Ran => {
                self.has_run(sentence, sentence.says(Act::Passed) || sentence.has(Meaning::Success))
            }
            Act::Failed => self.has_failed(sentence),
            Act::Read => self.has_read(sentence),
            Act::Committed => self.has_commit(sentence),
            Act::Outside => self.has_effect(sentence),
        };
        Support::shown_if(shown)
    }

    /// Whether a file has another path now, so that numbers of files and lines depend on how it is counted.
    fn has_moved(&self, changed: &[&str]) -> bool {
        let digest = |state: Option<&FileState>| state.and_then(|state| state.sha256);
        let gone = changed.iter().map(|path| self.changes.history(path));
        let gone = gone.filter(|history| history.after().is_none());
        let gone: Vec<_> = gone.filter_map(|history| digest(history.before())).collect();
        let mut new = changed.iter().map(|path| self.changes.history(path));
        new.any(|own| {
            own.before().is_none() && digest(own.after()).is_some_and(|d| gone.contains(&d))
        })
    }

    /// Whether the files of a sentence about renamed ones have the content that the one named before each had.
    fn has_pairs(&self, paths: &[&str]) -> bool {
        let digest = |state: Option<&FileState>| state.and_then(|state| state.sha256);
        let history = |path: &str| self.changes.history(&normalized(path, self.root));
        paths.chunks(2).all(|pair| match pair {
            [from, to] => {
                let was = digest(history(from).before());
                was.is_some() && was == digest(history(to).after())
            }
            _ => true,
        })
    }

    /// Whether stated numbers of files and lines are those of the record.
    fn quantities(&self, said: &Statement, act: Act) -> Support {
        let (sentence, in_key) = (&said.sentence, said.in_key);
        let files = sentence.numbers_of(Meaning::Files, in_key);
        let lines = sentence.line_numbers(in_key);
        let changed: Vec<&str> = self.changes.changed().collect();
        let fits = |path: &&&str| self.has_kind(path, act);
        let counts =
            [changed.len(), changed.iter().filter(fits).count(), self.coverage.by_file_tools()];
        let existed = |path: &&&str| self.changes.history(path).before().is_some();
        let old = changed.iter().filter(existed).count();
        let differs = |number: &&u64| {
            let number = **number as usize;
            !counts.contains(&number) && number != old
        };
        // A count of renamed files, or of added ones, can be counted otherwise.
        let is_plain = sentence.words.iter().any(|word| COUNTED.contains(&word.as_str()));
        let is_known = in_key && self.changes.gap().is_none() && !self.has_moved(&changed);
        // A file of which only the mode changed counts or not.
        if !files.is_empty() && self.coverage.changes_mode() {
            return Support::Open;
        }
        if let Some(number) = files.iter().find(differs) {
            return match is_known && is_plain && *number > 0 && sentence.ends_in_number() {
                true => Support::Refuted(format!(
                    "{number} files are claimed to have been changed, but the step changed {}",
                    changed.len()
                )),
                false => Support::Open,
            };
        }
        // A number of modified files can be meant without those that are new, or with them.
        let is_of_kind = |number: &u64| {
            let is_modified =
                |word: &String| ["modified", "updated", "edited"].contains(&word.as_str());
            !sentence.words.iter().any(is_modified) || *number as usize == old
        };
        if !files.iter().all(is_of_kind) {
            return Support::Open;
        }
        let paths = sentence.paths();
        let about: Vec<&&str> = changed
            .iter()
            .filter(|path| paths.is_empty() || paths.iter().any(|p| self.is_same(path, p)))
            .collect();
        let sums = about.iter().try_fold((0, 0), |sum: (u64, u64), path| {
            let lines = self.changes.history(path).changed_lines()?;
            Some((sum.0 + lines.added, sum.1 + lines.removed))
        });
        if !lines.is_empty() {
            let Some((added, removed)) = sums else { return Support::Open };
            let is_known_number = |(number, change): &&(u64, LineChange)| match change {
                LineChange::Added => *number == added,
                LineChange::Removed => *number == removed,
                LineChange::Any => {
                    [added, removed, added + removed, added.max(removed)].contains(number)
                }
            };
            let other = lines.iter().find(|said| !is_known_number(said)).map(|(number, _)| number);
            return match other {
                None => Support::Shown,
                // The lines of one file can be those that it has.
                Some(other) if is_known && paths.is_empty() && sentence.ends_in_number() => {
                    Support::Refuted(format!(
                        "{other} lines are claimed to have been changed, but the step added {added} and removed {removed}"
                    ))
                }
                Some(_) => Support::Open,
            };
        }
        let all = sentence.words.windows(2).any(|pair| {
            ["all", "every", "each", "все", "каждый", "alle"].contains(&pair[0].as_str())
                && means(&pair[1], Meaning::Files)
        });
        let other = in_key && files.is_empty() && paths.is_empty() && {
            sentence.numbers().any(|(_, number)| !counts.contains(&(number as usize)))
        };
        Support::shown_if(!all && !other)
    }

    /// Whether the record has the changes that a sentence names, or any if it names none.
    fn has_files(&self, sentence: &Sentence, act: Act) -> bool {
        let paths = sentence.paths();
        let names: Vec<&str> =
            sentence.names().into_iter().filter(|name| !self.is_recorded_command(name)).collect();
        let has_names = names.iter().all(|name| self.has_name(name, &paths));
        let named_by_key = sentence.text.split_once(" added ").filter(|(kind, _)| {
            ["functions", "classes", "methods", "symbols", "tests"].contains(kind)
        });
        let has_added =
            named_by_key.is_none_or(|(_, name)| self.has_name(name.trim_matches('`'), &[]));
        let known = match paths.is_empty() {
            true => self.changes.changed().any(|path| {
                let after = self.changes.history(path).after();
                after.map_or(act != Act::Created, |state| state.size > 0)
            }),
            false => paths.iter().all(|path| self.has_changed(path, sentence)),
        };
        known && has_names && has_added
    }

    /// Whether the digests of a sentence are those of changed files.
    fn has_digest(&self, sentence: &Sentence) -> bool {
        let mut digests = sentence.words.iter().filter(|word| word.len() >= 32);
        digests.all(|digest| {
            self.changes.changed().any(|path| {
                let after = self.changes.history(path).after().and_then(|state| state.sha256);
                after.is_some_and(|after| after.to_string() == *digest)
            })
        })
    }

    /// Whether a path was changed as one of the acts of a sentence says.
    fn has_changed(&self, path: &str, sentence: &Sentence) -> bool {
        let acts = [Act::Created, Act::Changed, Act::Deleted, Act::Renamed];
        let said: Vec<Act> = acts.into_iter().filter(|act| sentence.says(*act)).collect();
        // A temporary file is created and deleted.
        if said.contains(&Act::Created) && said.contains(&Act::Deleted) {
            return self.changes.paths().any(|changed| self.is_same(changed, path));
        }
        let folder = normalized(path.trim_end_matches('/'), self.root);
        let mut known = self.changes.changed().filter(|changed| self.is_same(changed, path));
        let fits =
            |changed: &str| said.is_empty() || said.iter().any(|act| self.has_kind(changed, *act));
        // Whether other files of a folder were there before, or are there still, is not known here.
        let is_whole = said.contains(&Act::Created) || said.contains(&Act::Deleted);
        known.any(fits) || path.ends_with('/') && !is_whole && self.changes.differs_below(&folder)
    }

    pub(super) fn has_kind(&self, changed: &str, act: Act) -> bool {
        let history = self.changes.history(changed);
        match act {
            Act::Created => history.before().is_none(),
            Act::Deleted => history.after().is_none(),
            _ => true,
        }
    }

    /// Whether a named path is a changed one. A name without a folder fits in any.
    pub(super) fn is_same(&self, changed: &str, named: &str) -> bool {
        let named = named.split_once(':').map_or(named, |(path, _)| path);
        let is_name = !named.contains('/') && changed.ends_with(&format!("/{named}"));
        is_name || changed == normalized(named, self.root)
    }

    /// Whether one of the files has a name in it.
    pub(super) fn has_name_in(&self, name: &str, paths: &[&str]) -> bool {
        paths.iter().any(|path| {
            let seen = self.observations.get(&name_query(path, name, self.root));
            let Some(Observation::Files(Ok(files))) = seen else { return false };
            files.iter().any(|file| file.occurrences.is_some_and(|count| count > 0))
        })
    }

    /// Whether one of the files has a name in it, or a recorded difference has it.
    pub(super) fn has_name(&self, name: &str, paths: &[&str]) -> bool {
        let in_file = self.has_name_in(name, paths);
        let name = name.trim_end_matches("()");
        let in_diff = |path: &str| {
            let diffs = self.changes.history(path).diffs();
            diffs.is_some_and(|diffs| diffs.iter().any(|diff| diff.contains(name)))
        };
        in_file || self.changes.changed().any(in_diff)
    }
}
