use super::Workspace;
use crate::evidence::{Change, Manifest};
use crate::value::Json;
use serde_json::json;

/// The workspace before a process, to be held against what it is afterwards. Scans run away from
/// the threads that drive everything else.
#[derive(Debug)]
pub struct WorkspaceWatch {
    workspace: Workspace,
    before: Manifest,
}

/// What changed in a workspace while it was watched.
#[derive(Debug, Default)]
pub struct Watched {
    /// In path order, with the digests of what is there now.
    pub changes: Vec<Change>,
    /// Whether there is more than could be looked at, so that absence proves nothing.
    pub truncated: bool,
}

impl WorkspaceWatch {
    /// Looks at everything that the ignore rules leave.
    pub async fn begin(workspace: &Workspace) -> Self {
        let scanned = workspace.clone();
        let truncated = Manifest { truncated: true, ..Manifest::default() };
        let before = tokio::task::spawn_blocking(move || scanned.manifest()).await;
        WorkspaceWatch { workspace: workspace.clone(), before: before.unwrap_or(truncated) }
    }

    /// Looks again and tells what changed.
    pub async fn end(self) -> Watched {
        let WorkspaceWatch { workspace, before } = self;
        let work = move || {
            let after = workspace.manifest();
            let changes = workspace.changes(&before, &after);
            Watched { changes, truncated: before.truncated || after.truncated }
        };
        let unseen = Watched { truncated: true, ..Watched::default() };
        tokio::task::spawn_blocking(work).await.unwrap_or(unseen)
    }
}

impl Watched {
    /// Says so in what the process leaves behind, where the record may lack something: gates read it.
    pub fn mark(&self, process: &mut Json) {
        if self.truncated {
            process["manifestTruncated"] = json!(true);
        }
    }
}
