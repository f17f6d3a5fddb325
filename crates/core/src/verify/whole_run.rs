//! Whether a recorded run of a test command ran all tests of the project: at the root of the step, without a selection,
//! with known numbers, and not decided by files that the step changed.

use super::deciding::Deciding;
use super::finding::Finding;
use super::later_edits::LaterEdits;
use super::normalized_path::normalized;
use super::recorded_changes::RecordedChanges;
use super::recorded_runs::RecordedRun;
use super::runner::TestUse;
use super::shell::CommandUse;
use kb_base::value::Json;

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
            let changes = RecordedChanges::of(edits.trace, false);
            let deciding = Deciding {
                argv: &used.argv,
                test: Some(test),
                changes: &changes,
                trace: edits.trace,
                observations: edits.observations,
                allowed: &[],
                fresh_caches: false,
            };
            Some(format!("the step changed {}, which decides what it runs", deciding.changed()?))
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
    let argument = test.selection()?;
    Some(format!(
        "with `{argument}` it may be a part of the tests; if it is all of them, add the command to \
         `testCommands` in the settings"
    ))
}

/// The folder in which a command ran, if it is not the one of the step.
fn elsewhere(run: &RecordedRun<'_>, used: &CommandUse, root: &str) -> Option<String> {
    let given = run.call.args.get("cwd").and_then(Json::as_str);
    if let Some(folder) = given.filter(|folder| !normalized(folder, root).is_empty()) {
        return Some(format!("`{folder}`"));
    }
    let Some(moved) = &used.cwd else { return Some("another folder".to_owned()) };
    let own = run.call.process.as_ref().map_or("", |process| process.cwd.as_str());
    let own = normalized(own, root);
    let now = if moved.is_empty() {
        own.clone()
    } else if moved.starts_with('/') {
        normalized(moved, root)
    } else {
        normalized(&format!("{own}/{moved}"), root).trim_start_matches('/').to_owned()
    };
    (now.trim_start_matches('/') != own.trim_start_matches('/')).then(|| format!("`{moved}`"))
}
