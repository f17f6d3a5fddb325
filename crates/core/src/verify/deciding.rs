//! What decides a run of a command beside the work that it tests, and that the step changed: the program or script itself,
//! settings of its runner, tests that were there before, and installed programs.
//!
//! A change of such a file leaves open whether the work is right or the command says so by itself. Whether it refutes a
//! check is for the check to say: [`Decided::is_frozen`].

use super::asked_work::AskedWork;
use super::ignored_files::{IgnoredChange, is_at};
use super::manifest::{self, Effect};
use super::named_commands::{executes_query, is_in_file};
use super::normalized_path::ends_in;
use super::observation::{Observation, Observations};
use super::path_glob::PathGlob;
use super::python_modules::{installed, takes_place_of};
use super::recorded_changes::RecordedChanges;
use super::runner::{self, TestUse, is_test_file, is_test_folder};

/// Words in a line that is added to a test, with which runners leave tests out, and those that begin with `skip`.
const LEFT_OUT: &[&str] =
    &["ignore", "xfail", "expectedfailure", "only", "todo", "disabled", "xit", "xdescribe"];
/// Whole lines that end a test before its checks.
const ENDS: &[&str] = &["return", "return;", "pass", "return Ok(());", "exit", "exit 0"];

/// A command, and what the step changed.
pub(super) struct Deciding<'a> {
    pub(super) argv: &'a [String],
    /// The command as one that runs tests, if it is one.
    pub(super) test: Option<&'a TestUse<'a>>,
    pub(super) changes: &'a RecordedChanges<'a>,
    pub(super) observations: &'a Observations,
    /// Globs of files that the step may change.
    pub(super) allowed: &'a [String],
    /// What the task asks to make, so that it can be the work.
    pub(super) asked: &'a AskedWork,
    /// Whether a new file that the command executes counts: for a check of the author, but not for new tests of the step.
    pub(super) new_programs: bool,
    /// Whether the command ran without the caches of compiled Python of the project.
    pub(super) fresh_caches: bool,
}

/// Why the step may have decided the result of a command.
pub(super) struct Decided {
    /// A fragment for people.
    pub(super) reason: String,
    /// The file that decides; `None` if not all files could be compared.
    pub(super) path: Option<String>,
    /// Whether a tool call changed it, and nothing of it is the work: settings of the runner, and a script of a shell.
    pub(super) is_frozen: bool,
}

impl Decided {
    fn by(path: &str, is_frozen: bool) -> Decided {
        let reason = format!("the step changed `{path}`, which decides what the command does");
        Decided { reason, path: Some(path.to_owned()), is_frozen }
    }

    fn unknown() -> Decided {
        let reason = "files that ignore rules exclude could not be compared: a folder of the project cannot be read, or \
                      there are too many";
        Decided { reason: reason.to_owned(), path: None, is_frozen: false }
    }
}

impl Deciding<'_> {
    /// The first path that decides and that the step changed; one that is frozen before others.
    pub(super) fn changed(&self) -> Option<Decided> {
        let allowed = PathGlob::list(self.allowed);
        let counts = |path: &&str| !allowed.iter().any(|glob| glob.covers(path, true));
        let recorded = self.by_recorded();
        let known = ignored_changes(self.observations);
        let ignored = known.unwrap_or_default().iter().filter(|file| self.decides_ignored(file));
        let ignored = ignored.map(|file| file.path.as_str()).filter(counts);
        let ignored = ignored.map(|path| Decided::by(path, false));
        let runs_them = self.test.is_some() || runner::uses_installed(self.argv);
        let unknown = (known.is_none() && runs_them).then(Decided::unknown);
        let mut found: Vec<Decided> = recorded.into_iter().chain(ignored).chain(unknown).collect();
        let at = found.iter().position(|decided| decided.is_frozen).unwrap_or(0);
        (!found.is_empty()).then(|| found.swap_remove(at))
    }

    /// The recorded changes of files that decide.
    pub(super) fn by_recorded(&self) -> Vec<Decided> {
        let allowed = PathGlob::list(self.allowed);
        let counts = |path: &&str| !allowed.iter().any(|glob| glob.covers(path, true));
        let installed = installed(self.argv, self.changes, self.observations);
        let recorded = self.changes.changed().filter(counts).filter_map(|path| {
            let is_settled = self.decides(path, &installed)? && !self.asked.asks_for(path);
            let is_frozen = is_settled && self.changes.history(path).is_by_tool_call();
            Some(Decided::by(path, is_frozen))
        });
        recorded.collect()
    }

    /// Whether a changed path decides without being work; `None` if it does not decide.
    fn decides(&self, path: &str, installed: &[&str]) -> Option<bool> {
        if self.fresh_caches && is_python_cache(path) {
            return None;
        }
        let history = self.changes.history(path);
        let existed = history.before().is_some();
        let by_runner = match self.test {
            Some(test) => test.is_decided_by(path),
            None => runner::defines(self.argv, path),
        };
        let by_runner = by_runner.then(|| match (runner::is_manifest(path), existed) {
            // Without it the command could not run: it is the work.
            (true, false) => Some(false),
            (true, true) => {
                match history.diffs().map(|diffs| manifest::effect(&diffs, self.argv)) {
                    Some(Effect::None) => None,
                    Some(Effect::Decides) => Some(true),
                    Some(Effect::Unknown) | None => Some(false),
                }
            }
            (false, _) => Some(!runner::is_definition(path) || existed && !path.contains('/')),
        });
        let behind = existed && self.is_executed_behind(path);
        let executed = match (existed, self.new_programs) {
            (true, _) => self.executes(path),
            (false, true) => self.executes_new(path),
            (false, false) => None,
        };
        let weaker = existed && self.test.is_some() && self.is_weaker(path);
        let shadows = !existed && takes_place_of(path, installed);
        let frozen = [by_runner.flatten(), executed, shadows.then_some(true)];
        let all = frozen.into_iter().chain([behind.then_some(false), weaker.then_some(false)]);
        all.flatten().max()
    }

    /// Whether a file of before that the command executes decides without being work; `None` if the command does not execute it.
    fn executes(&self, path: &str) -> Option<bool> {
        let is_module = runner::module_files(self.argv).iter().any(|file| file == path);
        let file = runner::executed_file(self.argv).filter(|file| is_at(path, file));
        let frozen = file.map(|file| {
            // A program can be the work. Of a binary file there is no difference.
            let is_text = self.changes.history(path).diffs().is_some();
            is_text && file.trim_start_matches("./") == path && runner::is_shell_script(self.argv)
        });
        frozen.or(is_module.then_some(false))
    }

    /// The same for a new file: it can be the work, and it is if the task asks for it.
    fn executes_new(&self, path: &str) -> Option<bool> {
        let file = runner::executed_file(self.argv);
        let mut files = runner::program_paths(self.argv).into_iter().chain(file);
        let executed = files.any(|word| ends_in(word.trim_start_matches("./"), path))
            || runner::module_files(self.argv).iter().any(|file| file == path);
        (executed && !self.asked.may_ask_for(path)).then_some(false)
    }

    /// Whether the target or script that the command names executes a file.
    fn is_executed_behind(&self, path: &str) -> bool {
        let query = executes_query(self.argv, path);
        query.is_some_and(|query| is_in_file(&query, self.observations))
    }

    /// Whether a test of before may test less: it is gone, lines of it are, or lines that leave tests out were added.
    fn is_weaker(&self, path: &str) -> bool {
        let in_folder = path.split('/').rev().skip(1).any(is_test_folder);
        if !is_test_file(path) {
            return in_folder;
        }
        let history = self.changes.history(path);
        let Some(diffs) = history.diffs().filter(|_| history.after().is_some()) else {
            return true;
        };
        let mut lines = diffs.iter().flat_map(|diff| diff.lines());
        lines.any(|line| match line.split_at_checked(1) {
            Some(("-", text)) => !text.trim().is_empty(),
            Some(("+", text)) => {
                let words = text.split(|c: char| !c.is_ascii_alphanumeric());
                let leaves_out =
                    |word: String| word.starts_with("skip") || LEFT_OUT.contains(&word.as_str());
                ENDS.contains(&text.trim()) || words.map(str::to_ascii_lowercase).any(leaves_out)
            }
            Some(("\\", text)) => text.contains("more lines"),
            _ => false,
        })
    }

    /// Whether an ignored file that changed decides what the command does.
    fn decides_ignored(&self, file: &IgnoredChange) -> bool {
        let executed = runner::executed_file(self.argv);
        let is_executed = executed.is_some_and(|word| is_at(&file.path, word));
        let by_name = || match self.test {
            Some(test) => test.is_decided_by(&file.path) || is_test_file(&file.path),
            None => runner::defines(self.argv, &file.path),
        };
        is_executed
            || match &file.folder {
                Some(folder) if folder.installed => {
                    let is_below =
                        |word: &str| word.trim_start_matches("./").starts_with(&folder.path);
                    self.test.is_some()
                        || runner::uses_installed(self.argv)
                        || executed.is_some_and(is_below)
                }
                Some(_) | None if is_python_cache(&file.path) => !self.fresh_caches && by_name(),
                // Results of builds have files of all names.
                Some(_) => false,
                None => by_name(),
            }
    }
}

/// Whether a path is in a folder of compiled Python.
pub(super) fn is_python_cache(path: &str) -> bool {
    path.split('/').any(|part| part == "__pycache__")
}

/// The observed changes; `None` if the files could not be compared.
pub(super) fn ignored_changes(observations: &Observations) -> Option<&[IgnoredChange]> {
    let seen = observations.values().find_map(|seen| {
        let Observation::IgnoredChanges(found) = seen else { return None };
        Some(found.as_deref())
    });
    seen.unwrap_or(Some(&[]))
}
