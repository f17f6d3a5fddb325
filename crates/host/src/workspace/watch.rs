//! Detects what changed in the workspace while a process ran.

use super::own_writes::Watching;
use super::path_guard::Workspace;
use super::tracked_files::TrackedFiles;
use kb_clock::Clock;
use kb_core::evidence::{Change, Manifest, ProcessEvidence};
use kb_core::redaction::Redactor;
use std::sync::Arc;

/// The workspace before a process, for comparison with its state afterwards. Scans run on blocking
/// threads.
pub struct WorkspaceWatch {
    workspace: Workspace,
    redactor: Arc<Redactor>,
    before: Manifest,
    /// Files that may change without a change of their stat data.
    racy: Vec<String>,
    tracked: Option<Arc<TrackedFiles>>,
    /// `None` if the scan did not end.
    watching: Option<Watching>,
}

/// The changes in a workspace while it was watched, without those that `kb` itself made meanwhile.
#[derive(Debug, Default)]
pub struct WorkspaceChanges {
    /// In path order, with the digests of the current contents.
    pub changes: Vec<Change>,
    /// Whether a scan was incomplete, so that a missing change proves nothing.
    pub truncated: bool,
}

impl Workspace {
    /// The same files for a run in which a person may be asked to approve what commands changed, or not.
    #[must_use]
    pub fn with_approvals(mut self, may_ask: bool) -> Workspace {
        self.is_unasked = !may_ask;
        self
    }

    /// Whether a person may be asked to approve what commands changed.
    pub(crate) fn may_ask(&self) -> bool {
        !self.is_unasked
    }
}

impl WorkspaceWatch {
    /// Scans all files that the ignore rules leave. The clock tells which of them were just written.
    pub async fn begin(workspace: &Workspace, redactor: &Arc<Redactor>, clock: &Clock) -> Self {
        let (scanned, clock) = (workspace.clone(), clock.clone());
        let work = move || {
            let _still = scanned.own_writes().scanning();
            let watching = scanned.own_writes().watching();
            scanned.refresh_tracked();
            let mut tracked = None;
            let mut before = scanned.manifest_with(scanned.ignore_rules(), &mut tracked);
            let racy = scanned.add_digests(&mut before, clock.of_files());
            if let Some(stored) = scanned.state_before() {
                stored.store_all(&before, &racy);
            }
            (before, racy, tracked, Some(watching))
        };
        let looked = tokio::task::spawn_blocking(work).await;
        let truncated =
            || (Manifest { truncated: true, ..Manifest::default() }, Vec::new(), None, None);
        let (before, racy, tracked, watching) = looked.unwrap_or_else(|_| truncated());
        let (workspace, redactor) = (workspace.clone(), redactor.clone());
        WorkspaceWatch { workspace, redactor, before, racy, tracked, watching }
    }

    /// Scans again and returns the changes so far; later ones are those after this moment.
    pub async fn so_far(&mut self, clock: &Clock) -> WorkspaceChanges {
        let (workspace, redactor, clock) =
            (self.workspace.clone(), self.redactor.clone(), clock.clone());
        let (mut before, mut racy) = (self.before.clone(), self.racy.clone());
        let (mut tracked, watching) = (self.tracked.clone(), self.watching.take());
        let work = move || {
            let _still = workspace.own_writes().scanning();
            let mut after = workspace.manifest_with(workspace.ignore_rules(), &mut tracked);
            if let Some(watching) = watching {
                watching.add_to(&mut before, &mut racy);
            }
            let changes = workspace.changes_with(&before, &after, &racy, &redactor);
            let watching = workspace.own_writes().watching();
            let racy = workspace.add_digests(&mut after, clock.of_files());
            let truncated = before.truncated || after.truncated;
            (WorkspaceChanges { changes, truncated }, after, racy, watching)
        };
        match tokio::task::spawn_blocking(work).await {
            Ok((changes, after, racy, watching)) => {
                self.watching = Some(watching);
                (self.before, self.racy) = (after, racy);
                changes
            }
            Err(_) => {
                self.before.truncated = true;
                WorkspaceChanges { truncated: true, ..WorkspaceChanges::default() }
            }
        }
    }

    /// Scans again and returns the changes.
    pub async fn end(self) -> WorkspaceChanges {
        let WorkspaceWatch { workspace, redactor, mut before, mut racy, mut tracked, watching } =
            self;
        let work = move || {
            let _still = workspace.own_writes().scanning();
            let after = workspace.manifest_with(workspace.ignore_rules(), &mut tracked);
            if let Some(watching) = watching {
                watching.add_to(&mut before, &mut racy);
            }
            let changes = workspace.changes_with(&before, &after, &racy, &redactor);
            WorkspaceChanges { changes, truncated: before.truncated || after.truncated }
        };
        let unseen = WorkspaceChanges { truncated: true, ..WorkspaceChanges::default() };
        tokio::task::spawn_blocking(work).await.unwrap_or(unseen)
    }
}

impl WorkspaceChanges {
    /// Records in the evidence of a process that it was watched, and whether the scan was
    /// incomplete. Gates read both.
    pub fn mark(&self, process: &mut ProcessEvidence) {
        process.watched = true;
        process.manifest_truncated |= self.truncated;
    }
}
