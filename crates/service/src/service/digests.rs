//! Digests of what playbooks execute. A trigger is enabled for one.

use super::Project;
use crate::trigger::definition_digest;
use kb_base::value::{Digest, limits};
use kb_host::workspace::Workspace;
use kb_language::definition::{InputFile, Playbook, content_digest};
use std::cell::LazyCell;
use std::collections::BTreeMap;

/// The files of a project by path.
pub struct DefinitionDigests<'p> {
    project: &'p Project,
    files: BTreeMap<&'p str, &'p InputFile>,
}

impl<'p> DefinitionDigests<'p> {
    /// The files of this project.
    pub fn new(project: &'p Project) -> DefinitionDigests<'p> {
        let files = project.files.iter().map(|file| (file.path.as_str(), file)).collect();
        DefinitionDigests { project, files }
    }

    /// The digest of what a run of this playbook executes now. Task files are read.
    pub fn of(&self, playbook: &Playbook) -> Digest {
        let reached = self.project.catalog.files_of(playbook);
        let tasks = self.project.catalog.task_files_of(playbook);
        let found = reached.iter().filter_map(|path| self.files.get(path.as_str()));
        let own = found.map(|file| (content_digest(file), file.path.as_str()));
        let root = &self.project.context.root;
        let workspace = LazyCell::new(|| Workspace::open(root, &[], &[]).ok());
        let task = |path: &'_ String| {
            // A file that cannot be read starts nothing; it is a change all the same.
            let read = |own: &Workspace| own.read_at_most(path, limits::TASK_FILE_BYTES).ok();
            Digest::of(workspace.as_ref().and_then(read).unwrap_or_default())
        };
        definition_digest(own.chain(tasks.iter().map(|path| (task(path), path.as_str()))))
    }
}
