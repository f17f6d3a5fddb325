//! Whether a recorded run of a test command ran all tests of the project: at the root of the step, without a selection,
//! with known numbers, and not decided by files that the step changed.

use super::asked_work::AskedWork;
use super::command_text::{is_question, moves_files, records};
use super::deciding::Deciding;
use super::finding::Finding;
use super::later_edits::LaterEdits;
use super::number_source::other_source;
use super::program_place::other_program;
use super::recorded_changes::RecordedChanges;
use super::recorded_runs::RecordedRun;
use super::runner::TestUse;
use super::shell::CommandUse;

/// Why a successful run does not show that all tests pass; `None` if it does.
pub(super) fn doubt(
    run: &RecordedRun<'_>,
    used: &CommandUse,
    test: &TestUse<'_>,
    edits: &LaterEdits<'_>,
) -> Option<Finding> {
    let (name, call) = (used.argv.join(" "), &run.call.id);
    let reason = partial(run, used, test, edits.root)
        .or_else(|| {
            other_program(&used.argv, &run.folder_of(used, edits.root).unwrap_or_default(), edits)
        })
        .or_else(|| {
            let changes = RecordedChanges::of(edits.trace, false);
            // Whether it can be the work does not matter: it is doubt either way.
            let asked = AskedWork::default();
            let deciding = Deciding {
                argv: &used.argv,
                test: Some(test),
                changes: &changes,
                observations: edits.observations,
                allowed: &[],
                asked: &asked,
                new_programs: false,
                fresh_caches: false,
            };
            Some(deciding.changed()?.reason)
        })
        .or_else(|| {
            let mut earlier = edits.earlier.iter();
            earlier.find_map(|step| step.decides(&used.argv, Some(test), edits.observations, &[]))
        })
        .or_else(|| {
            let file = moved_away(run, used)?;
            Some(format!("its script names `{file}` before and after it"))
        })
        .or_else(|| {
            let counted = run.tests.is_some() && !test.named;
            counted.then(|| other_source(&run.script, used)).flatten()
        })
        .or_else(|| {
            (run.tests.is_none() && !test.named).then(|| {
                "its output reports no number of tests in a known form; if its exit code is enough, add the \
                 command to `testCommands` in the settings"
                    .to_owned()
            })
        })?;
    Some(Finding::inconclusive(format!(
        "`{name}` (call `{call}`) exited with code 0, but {reason}"
    )))
}

/// Why a run may be one of a part of the tests.
pub(super) fn partial(
    run: &RecordedRun<'_>,
    used: &CommandUse,
    test: &TestUse<'_>,
    root: &str,
) -> Option<String> {
    if let Some(folder) = elsewhere(run, used, root) {
        return Some(format!("it ran in {folder}, not in the folder of the step"));
    }
    let part = test.part(run.tests)?;
    Some(format!(
        "{part} it may be a part of the tests; if it is all of them, add the command to \
         `testCommands` in the settings"
    ))
}

/// A file or folder that a command before the tests and one after them in the same script name: it can have been changed
/// for the run alone.
fn moved_away(run: &RecordedRun<'_>, used: &CommandUse) -> Option<String> {
    let commands = &run.script.commands;
    let at = commands.iter().position(|own| own == used)?;
    let files = |commands: &[CommandUse]| -> Vec<String> {
        let changing = commands.iter().filter(|own| !only_reads(own));
        changing.flat_map(operands).collect()
    };
    let after = files(&commands[at + 1..]);
    files(&commands[..at]).into_iter().find(|file| after.contains(file))
}

/// The names of the files of a command; of one that moves files, those without a dot as well.
fn operands(used: &CommandUse) -> impl Iterator<Item = String> {
    let moves = moves_files(&used.argv);
    let words = used.argv.iter().skip(1).filter(|word| !word.starts_with('-'));
    let names = words.filter_map(|word| word.trim_end_matches('/').rsplit('/').next());
    let is_file =
        move |name: &&str| name.contains(char::is_alphanumeric) && (moves || name.contains('.'));
    names.filter(is_file).map(str::to_owned)
}

fn only_reads(used: &CommandUse) -> bool {
    used.is_neutral() || is_question(&used.argv.join(" ")) || records(&used.argv)
}

/// The folder in which a command ran, if it is not the one of the step.
fn elsewhere(run: &RecordedRun<'_>, used: &CommandUse, root: &str) -> Option<String> {
    match run.folder_of(used, root) {
        Some(folder) => (!folder.is_empty()).then(|| format!("`{folder}`")),
        None => Some("another folder".to_owned()),
    }
}
