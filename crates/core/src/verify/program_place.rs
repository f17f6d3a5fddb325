//! Where the program of a command lies. A program that a path names counts as what its name says only if it was in the project
//! before the step, or lies in a folder of `PATH`: a file `pytest` that the step made, or one in a temporary folder, is any program.

use super::later_edits::LaterEdits;
use super::normalized_path::normalized;
use super::observation::{CommandEnd, Observation, ObservationQuery};
use super::recorded_changes::RecordedChanges;
use super::recorded_runs::{CommandRecord, RecordedRun};
use super::runner;
use super::shell::{CommandUse, Script};
use crate::evidence::Invocation;
use std::time::Duration;

/// Exits with 0 if its argument is a folder of `PATH`.
const ASK: &str = r#"case ":$PATH:" in *":$1:"*) ;; *) exit 1 ;; esac"#;
/// Time limit of the question.
const LIMIT: Duration = Duration::from_secs(10);
/// Most programs that are asked about.
const PROGRAMS: usize = 20;

/// The question whether a folder is one of `PATH`.
fn folder_query(folder: &str) -> ObservationQuery {
    let argv = ["sh", "-c", ASK, "sh", folder].map(str::to_owned).to_vec();
    ObservationQuery::Command { argv, timeout: Some(LIMIT) }
}

/// The folder of a program outside the project; `None` if it is in the project or its path is not known.
fn folder_outside<'p>(path: &'p str, word: &str) -> Option<&'p str> {
    let is_outside = path.starts_with('/') && !expands(word);
    path.rsplit_once('/').map(|(folder, _)| folder).filter(|_| is_outside)
}

/// Whether a shell replaces a part of a word.
fn expands(word: &str) -> bool {
    word.contains(['$', '~', '*', '?', '`'])
}

/// The queries about the programs that the step executed by their paths: whether those outside the project are in folders of
/// `PATH`, and whether the others are still there.
pub(super) fn queries(trace: &[Invocation], root: &str) -> Vec<ObservationQuery> {
    let scripts = trace.iter().filter_map(Script::of_call).flat_map(|script| script.commands);
    let mut found: Vec<ObservationQuery> = Vec::new();
    for used in scripts {
        for word in runner::program_paths(&used.argv) {
            let path = normalized(word, root);
            let query = match folder_outside(&path, word) {
                Some(folder) => folder_query(folder),
                None => ObservationQuery::Location(path),
            };
            found.extend(Some(query).filter(|query| !found.contains(query)));
        }
    }
    found.truncate(PROGRAMS);
    found
}

/// Why a program of a command in a folder of the step may be another one than its name says, as a fragment for people; `None` if
/// it is that one.
pub(super) fn other_program(
    argv: &[String],
    folder: &str,
    edits: &LaterEdits<'_>,
) -> Option<String> {
    let changes = RecordedChanges::of(edits.trace, false);
    runner::program_paths(argv).into_iter().find_map(|word| {
        let is_whole = folder.is_empty() || word.starts_with('/');
        let whole = if is_whole { word.to_owned() } else { format!("{folder}/{word}") };
        let path = normalized(&whole, edits.root);
        if let Some(folder) = folder_outside(&path, word) {
            let is_of_path = matches!(
                edits.observations.get(&folder_query(folder)),
                Some(Observation::Command(run)) if run.ended == CommandEnd::Code(0)
            );
            let reason =
                || format!("`{word}` lies outside of the project and of the folders of `PATH`");
            return (!is_of_path).then(reason);
        }
        if expands(word)
            || path.starts_with(['/'])
            || path.starts_with("../")
            || path.starts_with(".git/")
        {
            return Some(format!("which program `{word}` is, is not known"));
        }
        let is_it = |own: &&str| {
            path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if let Some(made) = changes.paths().find(is_it) {
            return Some(format!("the step changed `{made}`, so that the program can be any"));
        }
        let query = ObservationQuery::Location(path);
        let is_gone = matches!(
            edits.observations.get(&query),
            Some(Observation::Location(Ok(found))) if found.state.is_none()
        );
        is_gone.then(|| format!("`{word}` is not there any more, so that the program can be any"))
    })
}

impl CommandRecord<'_> {
    /// Why a recorded form of a claimed command may be another program, if only the record names it by a path.
    pub(super) fn other_program(
        &self,
        claimed: &[String],
        run: &RecordedRun<'_>,
        used: &CommandUse,
    ) -> Option<String> {
        let named = runner::program_paths(claimed);
        let is_more = runner::program_paths(&used.argv).iter().any(|word| !named.contains(word));
        let edits = LaterEdits::new(self.trace, self.observations, self.root);
        let folder = run.folder_of(used, self.root).unwrap_or_default();
        other_program(&used.argv, &folder, &edits).filter(|_| is_more)
    }
}
