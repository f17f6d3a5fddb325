//! Whether a recorded run of a test command ran all tests of the project: at the root of the step, without a selection,
//! with known numbers, and not decided by files that the step changed.

use super::finding::Finding;
use super::normalized_path::normalized;
use super::recorded_changes::RecordedChanges;
use super::recorded_runs::RecordedRun;
use super::runner::TestUse;
use super::shell::CommandUse;
use crate::evidence::Invocation;
use kb_base::value::Json;

/// Why a successful run does not show that all tests pass; `None` if it does.
pub(super) fn doubt(
    run: &RecordedRun<'_>,
    used: &CommandUse,
    test: &TestUse<'_>,
    (trace, root): (&[Invocation], &str),
) -> Option<Finding> {
    let (name, call) = (used.argv.join(" "), &run.call.id);
    let reason = partial(run, used, test, root)
        .or_else(|| {
            let path = deciding(test, &used.argv, &RecordedChanges::of(trace, false))?;
            Some(format!("the step changed `{path}`, which decides what it runs"))
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
    let now = match moved.starts_with('/') || moved.is_empty() {
        true if moved.is_empty() => own.clone(),
        true => normalized(moved, root),
        false => normalized(&format!("{own}/{moved}"), root).trim_start_matches('/').to_owned(),
    };
    (now.trim_start_matches('/') != own.trim_start_matches('/')).then(|| format!("`{moved}`"))
}

/// A file that decides what a test command runs, beside the tests, and that the step changed: a configuration, the
/// script behind it, or the program itself if it existed before.
pub(super) fn deciding<'c>(
    test: &TestUse<'_>,
    argv: &[String],
    changes: &RecordedChanges<'c>,
) -> Option<&'c str> {
    let is_word = |path: &str| {
        let is = |word: &String| word.trim_start_matches("./") == path;
        argv.iter().any(is) && changes.history(path).before().is_some()
    };
    changes.changed().find(|path| {
        let decides = test.is_decided_by(path) && !is_dependency(path, changes);
        decides || is_word(path)
    })
}

/// Whether only versions of dependencies in a manifest of packages were changed.
fn is_dependency(path: &str, changes: &RecordedChanges<'_>) -> bool {
    let manifests = ["package.json", "pyproject.toml", "Cargo.toml", "go.mod", "pom.xml"];
    let name = path.rsplit('/').next().unwrap_or(path);
    if !manifests.contains(&name) {
        return false;
    }
    let history = changes.history(path);
    let diffs = history.diffs();
    let changed = |diff: &&str| -> Vec<String> {
        let lines = diff.lines().filter(|line| line.starts_with(['+', '-']));
        lines.map(|line| line[1..].trim().trim_end_matches(',').to_owned()).collect()
    };
    let is_version = |line: &String| {
        let value = line.split_once([':', '=']).map(|(_, value)| value.trim());
        let version = value.and_then(|value| value.strip_prefix('"')?.strip_suffix('"'));
        line.is_empty()
            || version.is_some_and(|version| {
                version.starts_with(|c: char| c.is_ascii_digit() || "^~>=*".contains(c))
            })
    };
    diffs.is_some_and(|diffs| diffs.iter().flat_map(changed).all(|line| is_version(&line)))
}
