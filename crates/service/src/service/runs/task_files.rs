//! Reads the task files of specialist steps.

use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::{Json, JsonMap, limits};
use kb_host::workspace::Workspace;
use kb_language::definition::{Playbook, TaskText};
use kb_language::plan::Plan;
use std::cell::LazyCell;
use std::path::Path;

/// The texts of all `taskFile`s of a plan and of its child runs by path, or a problem for each that
/// cannot be read.
pub(super) fn all_task_files(plan: &Plan, root: &Path) -> Result<JsonMap, Vec<Diagnostic>> {
    let (mut texts, mut problems) = (JsonMap::new(), Vec::new());
    for plan in plan.with_children() {
        match read_task_files(plan.playbook(), root) {
            Ok(own) => texts.extend(own),
            Err(own) => problems.extend(own),
        }
    }
    if problems.is_empty() { Ok(texts) } else { Err(problems) }
}

/// The texts of all `taskFile`s of a definition by path, or a problem for each that cannot be read.
pub(in crate::service) fn read_task_files(
    playbook: &Playbook,
    root: &Path,
) -> Result<JsonMap, Vec<Diagnostic>> {
    let (mut texts, mut problems) = (JsonMap::new(), Vec::new());
    let workspace = LazyCell::new(|| Workspace::open(root, &[], &[]));
    for step in playbook.steps.iter().chain(&playbook.finally) {
        let Some(TaskText::File { path, span }) = step.kind.task() else { continue };
        let text = workspace.as_ref().map_err(ToString::to_string);
        match text.and_then(|workspace| read_text(workspace, path)) {
            Ok(text) => {
                texts.insert(path.to_string(), Json::String(text));
            }
            Err(error) => {
                let message = format!("`taskFile: {path}` cannot be read: {error}");
                let help = "create the file, or fix its path; it is relative to the project root";
                problems.push(Diagnostic::error(Code::TASK_TEXT, *span, message).help(help));
            }
        }
    }
    if problems.is_empty() { Ok(texts) } else { Err(problems) }
}

/// A text below the project. A link that leads out of it is not followed: a step can have made it.
fn read_text(workspace: &Workspace, path: &str) -> Result<String, String> {
    let bytes = workspace.read_at_most(path, limits::TASK_FILE_BYTES);
    let bytes = bytes.map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}
