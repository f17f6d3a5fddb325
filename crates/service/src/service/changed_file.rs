//! The content of a file that a run changed, as long as the file is as the run left it.

use super::runs::ProjectContext;
use super::{FileSnapshot, ResourceKind, ServiceError, run_diff};
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure};
use kb_core::redaction::Redactor;
use kb_host::workspace::Workspace;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 16 << 20;

/// A file, without the values of the secrets that the redactor knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// UTF-8.
    Text(String),
    /// Anything else.
    Binary(Vec<u8>),
}

/// The content of a file that a run changed. Fails if the file is not as the run, or `step` of it, left it.
pub fn changed_file(
    context: &ProjectContext,
    run: &str,
    step: Option<&str>,
    path: &str,
    redactor: &Redactor,
) -> Result<FileContent, ServiceError> {
    let diff = run_diff(context, run, step)?;
    let files = || diff.steps.iter().flat_map(|step| &step.files);
    let recorded: Vec<&FileSnapshot> =
        files().filter(|file| file.path == path).filter_map(|file| file.after.as_ref()).collect();
    if recorded.is_empty() {
        let known = files().filter(|file| file.after.is_some()).map(|file| file.path.clone());
        return Err(ServiceError::unknown(ResourceKind::File, path, known));
    }
    if recorded.iter().all(|file| file.bytes > LARGEST) {
        let message = format!("`{path}` is larger than {} MiB", LARGEST >> 20);
        return Err(refused(message, "open it in the project folder"));
    }
    let unreadable = |why: String| {
        refused(format!("`{path}` cannot be read: {why}"), "`kb run diff` shows what was recorded")
    };
    let workspace =
        Workspace::open(&context.root, &[], &[]).map_err(|error| unreadable(error.to_string()))?;
    let size = workspace.stat(path).map_err(|error| unreadable(error.to_string()))?;
    if size.is_some_and(|state| state.size > LARGEST) {
        return Err(refused(
            format!("`{path}` was changed after the run"),
            "open it in the project folder",
        ));
    }
    let content = workspace.read_file(path).map_err(|error| unreadable(error.to_string()))?;
    let now = Some(Digest::of(&content));
    if !recorded.iter().any(|file| file.sha256 == now) {
        let message = format!("`{path}` was changed after the run");
        return Err(refused(message, "`kb run diff` shows the recorded differences"));
    }
    match String::from_utf8(content) {
        Ok(text) => Ok(FileContent::Text(redactor.mask_text(&text).into_owned())),
        Err(error) => {
            let bytes = error.into_bytes();
            if let Some(name) = redactor.written_in(&String::from_utf8_lossy(&bytes)) {
                let message = format!("`{path}` is no text and contains the secret `{name}`");
                return Err(refused(message, "open it in the project folder"));
            }
            Ok(FileContent::Binary(bytes))
        }
    }
}

fn refused(message: String, help: &str) -> ServiceError {
    ServiceError::refused(Failure::new(Code::PATH_UNUSABLE, message).help(help.to_owned()))
}
