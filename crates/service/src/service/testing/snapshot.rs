//! Snapshots: the result of a run as a stored file.

use super::report::PlaybookTest;
use kb_base::value::{Json, JsonMap};
use kb_core::evidence::Change;
use kb_core::wire::{RunView, change_kind_name};
use kb_host::workspace::unified_diff;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The parts of a result that do not depend on time and machine: statuses, attempts, verdicts, outputs
/// and changed files.
pub(super) fn of_run(run: &RunView, outputs: &Json, changes: &[Change]) -> String {
    let mut steps = JsonMap::new();
    for step in &run.steps {
        let mut entry = json!({"status": step.status, "attempts": step.attempts});
        if let Some(verdict) = step.verdict {
            entry["verdict"] = json!(verdict.to_string());
        }
        steps.insert(step.instance.clone(), entry);
    }
    let changed: JsonMap = changes
        .iter()
        .filter(|change| !change.same_content)
        .filter_map(|change| Some((change.path.clone(), json!(change_kind_name(change.kind()?)))))
        .collect();
    let whole =
        json!({"status": run.status, "steps": steps, "outputs": outputs, "changes": changed});
    format!("{whole:#}\n")
}

/// The path of the snapshot of a test: `snapshots/FILE/NAME.json` beside its file.
pub(super) fn path_of(root: &Path, test: &PlaybookTest) -> PathBuf {
    let file = Path::new(&test.file);
    let stem = file.file_name().map(|name| name.to_string_lossy().into_owned());
    let stem = stem.unwrap_or_default();
    let stem = stem.split(".test.").next().unwrap_or(&stem).to_owned();
    let name: String = test
        .case
        .name
        .value
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '-' })
        .take(80)
        .collect();
    let beside = file.parent().unwrap_or(Path::new(""));
    root.join(beside).join("snapshots").join(stem).join(format!("{name}.json"))
}

/// The lines that differ, as a unified diff.
pub(super) fn diff(stored: &str, found: &str) -> String {
    let text = format!("--- stored\n+++ found\n{}", unified_diff(stored, found));
    text.lines().take(60).collect::<Vec<_>>().join("\n")
}
