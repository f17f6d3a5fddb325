//! Whether commits have every change of a step, by the calls that made and staged them.

use super::normalized_path::normalized;
use super::recorded_changes::RecordedChanges;
use super::recorded_runs::{CommandResult, RecordedRun, RecordedRuns};
use super::whole_run::folder_of;
use crate::evidence::{EvidenceKind, Invocation};
use kb_base::value::{Glob, Json};
use std::collections::BTreeSet;

/// The files that are not in a commit yet, along the calls of a step.
#[derive(Default)]
struct Pending<'a> {
    changed: BTreeSet<&'a str>,
    /// Paths that `git add` and the like named; empty for all.
    staged: Vec<String>,
    /// Whether all files of before are staged.
    has_updates: bool,
}

/// Whether the last change of each file that a step changed is in a recorded commit.
pub(super) fn is_all_committed(
    trace: &[Invocation],
    changes: &RecordedChanges<'_>,
    runs: &RecordedRuns<'_>,
    root: &str,
) -> bool {
    let mut pending = Pending::default();
    for (at, call) in trace.iter().enumerate() {
        pending.changed.extend(call.changes.iter().map(|change| change.path.as_str()));
        let is_commit = call.evidence.iter().any(|e| e.kind == EvidenceKind::Receipt);
        let paths = call.args.get("paths").and_then(Json::as_array).filter(|_| is_commit);
        let named = paths.into_iter().flatten().filter_map(Json::as_str);
        let named: Vec<String> = named.map(|path| normalized(path, root)).collect();
        pending.changed.retain(|path| !named.iter().any(|own| covers(own, path)));
        for run in runs.iter().filter(|run| run.at == at) {
            git_commands(run, root)
                .for_each(|(folder, argv)| pending.git(argv, changes, &folder, root));
        }
    }
    !changes.changed().any(|path| pending.changed.contains(path))
}

/// The git commands of a run that succeeded, from their verb on.
///
/// Each has its folder below that of the step. A command in another repository or folder, or one that only shows what it
/// would do, is none.
fn git_commands<'r>(
    run: &'r RecordedRun<'_>,
    root: &'r str,
) -> impl Iterator<Item = (String, &'r [String])> {
    let done =
        run.script.commands.iter().filter(|used| run.result(used) == CommandResult::Succeeded);
    done.filter_map(|used| {
        let (program, args) = used.argv.split_first()?;
        let mut at = 0;
        while args.get(at)?.starts_with('-') {
            let is_setting = args[at] == "-c";
            if !is_setting && (args[at] == "-C" || args[at].starts_with("--")) {
                return None;
            }
            at += 1 + usize::from(is_setting);
        }
        let verb = args.get(at)?.as_str();
        let shows = |word: &String| word == "--dry-run" || verb != "commit" && word == "-n";
        let stages = ["add", "commit", "rm", "mv", "stage"].contains(&verb);
        let is_git = program == "git" || program.ends_with("/git");
        let folder = folder_of(run, used, root)?;
        (is_git && stages && !args.iter().any(shows)).then_some((folder, &args[at..]))
    })
}

impl Pending<'_> {
    fn git(&mut self, argv: &[String], changes: &RecordedChanges<'_>, folder: &str, root: &str) {
        let at = |path: &String| match folder {
            "" => normalized(path, root),
            folder => normalized(&format!("{folder}/{path}"), root),
        };
        let Some((verb, args)) = argv.split_first() else { return };
        let has = |long: &str, short: char| {
            let group = |word: &String| word.starts_with('-') && !word.starts_with("--");
            args.iter().any(|word| word == long || group(word) && word.contains(short))
        };
        if verb != "commit" {
            let paths = args.iter().filter(|word| !word.starts_with('-'));
            self.staged.extend(paths.map(at));
            self.has_updates |= has("--update", 'u');
            if has("--all", 'A') {
                self.staged.push(String::new());
            }
            return;
        }
        // `-a` has the files that were there before.
        let updates = std::mem::take(&mut self.has_updates) || has("--all", 'a');
        let old = |path: &str| updates && changes.history(path).before().is_some();
        let named = args.iter().skip_while(|word| *word != "--").skip(1);
        let named: Vec<String> = named.map(at).collect();
        let staged = std::mem::take(&mut self.staged);
        let all = || staged.iter().chain(&named);
        self.changed.retain(|path| !old(path) && !all().any(|own| covers(own, path)));
    }
}

/// Whether a path is the named one, or below it. The empty one is the root.
fn covers(named: &str, path: &str) -> bool {
    let below = path.strip_prefix(named).is_some_and(|rest| rest.starts_with('/'));
    named.is_empty() || named == path || below || named.contains('*') && fits_glob(path, named)
}

/// Whether a changed path fits a pattern with `*`.
fn fits_glob(path: &str, pattern: &str) -> bool {
    Glob::of_paths(pattern.trim_start_matches("./")).is_ok_and(|glob| glob.is_match(path))
}
