use crate::definition::{Playbook, StepKind, TaskText};
use crate::diagnostic::{Code, Diagnostic};
use crate::value::{Json, JsonMap};
use std::path::Path;

/// The texts of every `taskFile` of a definition, by path; or each that cannot be read, where it is
/// named.
pub(in crate::service) fn read_task_files(
    playbook: &Playbook,
    root: &Path,
) -> Result<JsonMap, Vec<Diagnostic>> {
    let (mut texts, mut problems) = (JsonMap::new(), Vec::new());
    for step in playbook.steps.iter().chain(&playbook.finally) {
        let StepKind::Specialist { task, .. } = &step.kind else { continue };
        let Some(TaskText::File { path, span }) = task.as_deref() else { continue };
        match std::fs::read_to_string(root.join(&**path)) {
            Ok(text) => {
                texts.insert(path.to_string(), Json::String(text));
            }
            Err(error) => {
                let message = format!("`taskFile: {path}` cannot be read: {error}");
                let help = "write the file, or correct its path; it begins at the project's root";
                problems.push(Diagnostic::error(Code::TASK_TEXT, *span, message).help(help));
            }
        }
    }
    if problems.is_empty() { Ok(texts) } else { Err(problems) }
}
