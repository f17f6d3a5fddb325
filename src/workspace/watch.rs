use super::path_guard::Workspace;
use crate::clock;
use crate::evidence::{Change, Manifest};
use crate::redaction::Redactor;
use crate::value::Json;
use serde_json::json;
use std::sync::Arc;

/// The workspace before a process, to be held against what it is afterwards. Scans run away from
/// the threads that drive everything else.
pub struct WorkspaceWatch {
    workspace: Workspace,
    redactor: Arc<Redactor>,
    before: Manifest,
    /// FileAccess that may change without their stat data showing it.
    racy: Vec<String>,
}

/// What changed in a workspace while it was watched.
#[derive(Debug, Default)]
pub struct WorkspaceChanges {
    /// In path order, with the digests of what is there now.
    pub changes: Vec<Change>,
    /// Whether there is more than could be looked at, so that absence proves nothing.
    pub truncated: bool,
}

impl WorkspaceWatch {
    /// Looks at everything that the ignore rules leave.
    pub async fn begin(workspace: &Workspace, redactor: &Arc<Redactor>) -> Self {
        let scanned = workspace.clone();
        let truncated = || (Manifest { truncated: true, ..Manifest::default() }, Vec::new());
        let work = move || {
            let mut before = scanned.manifest();
            let racy = scanned.learn(&mut before, clock::now());
            (before, racy)
        };
        let looked = tokio::task::spawn_blocking(work).await;
        let (before, racy) = looked.unwrap_or_else(|_| truncated());
        WorkspaceWatch { workspace: workspace.clone(), redactor: redactor.clone(), before, racy }
    }

    /// Looks again and tells what changed.
    pub async fn end(self) -> WorkspaceChanges {
        let WorkspaceWatch { workspace, redactor, before, racy } = self;
        let work = move || {
            let after = workspace.manifest();
            let changes = workspace.changes_with(&before, &after, &racy, &redactor);
            WorkspaceChanges { changes, truncated: before.truncated || after.truncated }
        };
        let unseen = WorkspaceChanges { truncated: true, ..WorkspaceChanges::default() };
        tokio::task::spawn_blocking(work).await.unwrap_or(unseen)
    }
}

impl WorkspaceChanges {
    /// Says in what the process leaves behind that it was watched, and where the record may lack
    /// something: gates read it.
    pub fn mark(&self, process: &mut Json) {
        process["watched"] = json!(true);
        if self.truncated {
            process["manifestTruncated"] = json!(true);
        }
    }
}
