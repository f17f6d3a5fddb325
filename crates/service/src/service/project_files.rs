//! The files of a project at one moment, to notice changes: all but ignored ones and those of `kb`.

use super::ServiceError;
use super::runs::ProjectContext;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_core::evidence::Manifest;
use kb_host::workspace::Workspace;

/// The state of the files of a project, without their content.
pub struct ProjectFiles {
    workspace: Workspace,
    seen: Manifest,
}

impl ProjectFiles {
    /// The files as they are now.
    pub fn now(context: &ProjectContext) -> Result<ProjectFiles, ServiceError> {
        let workspace = Workspace::open(&context.root, &[], &[]).map_err(|error| {
            let message = format!("cannot watch `{}`: {error}", context.root.display());
            ServiceError::refused(Failure::new(Code::FILE_FAILED, message))
        })?;
        let seen = workspace.manifest();
        Ok(ProjectFiles { workspace, seen })
    }

    /// The number of files.
    pub fn count(&self) -> usize {
        self.seen.files.len()
    }

    /// The paths that changed since the last call.
    pub fn changed(&mut self) -> Vec<String> {
        let now = self.workspace.manifest();
        let before = std::mem::replace(&mut self.seen, now);
        before.changes_to(&self.seen).into_iter().map(|change| change.path).collect()
    }
}
