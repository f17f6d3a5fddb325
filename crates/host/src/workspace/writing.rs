//! Changes that `kb` itself makes in the workspace, noted for processes that are watched meanwhile.

use super::content::SMALL;
use super::own_writes::OwnWrite;
use super::path_guard::Workspace;
use kb_core::evidence::{FileKind, FileState};

impl Workspace {
    /// Changes a path for `kb` itself. Blocks while a scan is running.
    pub(crate) fn writing<T>(&self, path: &str, write: impl FnOnce() -> T) -> T {
        let writes = self.own_writes();
        let _alone = writes.writing();
        if !writes.is_watched() && self.state_before().is_none() {
            return write();
        }
        let before = self.file_at(path);
        if let Some(stored) = self.state_before() {
            stored.store_path(path, before.clone());
        }
        let result = write();
        let after = self.file_at(path);
        // The text is kept for the difference to a later change of the process.
        if let Some(state) = after.as_ref().filter(|state| state.kind == FileKind::File) {
            let small = (state.size <= SMALL).then(|| self.read_file(path).ok()).flatten();
            self.content_cache().keep(path, state, small.as_deref());
        }
        writes.note(OwnWrite { path: path.to_owned(), before, after });
        result
    }

    /// The state of a file or link as a manifest has it, with its digest.
    pub(super) fn file_at(&self, path: &str) -> Option<FileState> {
        let state = self.symlink_stat(path).ok().flatten();
        state.filter(|state| state.kind != FileKind::Directory)
    }
}

#[cfg(test)]
mod tests {
    use crate::workspace::{FileContent, Workspace, WorkspaceWatch};
    use kb_core::redaction::Redactor;
    use std::sync::Arc;

    fn content(text: &str) -> Option<FileContent> {
        Some(FileContent::File { bytes: text.as_bytes().to_vec(), executable: false })
    }

    /// What a merge writes while a process is watched is not a change of the process; what the process
    /// does to the same file is.
    #[tokio::test]
    async fn writes_of_kb_are_not_changes_of_a_watched_process() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        for name in ["merged", "removed", "both", "later"] {
            write(name, "old\n");
        }
        let workspace = Workspace::open(dir.path(), &[], &[]).unwrap();
        let redactor = Arc::new(Redactor::default());
        let watch = WorkspaceWatch::begin(&workspace, &redactor, &kb_clock::Clock::system()).await;
        let second = WorkspaceWatch::begin(&workspace, &redactor, &kb_clock::Clock::system()).await;
        write("own", "x\n");
        write("both", "by the process\n");
        let merged = workspace.clone();
        let merge = move || {
            merged.put("merged", content("new\n").as_ref()).unwrap();
            merged.put("merged", content("newer\n").as_ref()).unwrap();
            merged.put("folder/made", content("new\n").as_ref()).unwrap();
            merged.put("removed", None).unwrap();
            merged.put("both", content("by both\n").as_ref()).unwrap();
            merged.put("later", content("new\n").as_ref()).unwrap();
        };
        tokio::task::spawn_blocking(merge).await.unwrap();
        write("later", "newer\n");
        let changed = |changes: &[kb_core::evidence::Change]| {
            changes.iter().map(|change| change.path.clone()).collect::<Vec<_>>()
        };
        let found = watch.end().await.changes;
        assert_eq!(changed(&found), ["both", "later", "own"]);
        let diff = found[1].diff.as_deref().unwrap();
        assert!(diff.contains("-new\n") && diff.contains("+newer\n"), "{diff}");
        assert_eq!(changed(&second.end().await.changes), ["both", "later", "own"]);
        let after = WorkspaceWatch::begin(&workspace, &redactor, &kb_clock::Clock::system()).await;
        assert_eq!(changed(&after.end().await.changes), [""; 0]);
        assert!(!workspace.own_writes().is_watched());
    }
}
