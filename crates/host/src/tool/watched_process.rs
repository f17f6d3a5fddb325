//! The start of every process of a step, a check or a tool call: where it runs is asked at that moment, and the files
//! of the workspace are watched around it.

use super::confinement;
use super::process_launcher::ProcessLauncher;
use super::process_trace::ProcessTrace;
use crate::workspace::{
    ProtectedWatch, StateBefore, Workspace, WorkspaceChanges, WorkspaceWatch, named,
};
use futures::future::OptionFuture;
use kb_attempt::{Live, run_blocking};
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_clock::Clock;
use kb_core::evidence::{Change, ProcessEvidence};
use kb_core::redaction::Redactor;
use kb_language::plan::Confined;
use kb_process::{OutputListener, ProcessResult, Spawn, Supervisor};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Whose work a process executes, and so where it runs.
#[derive(Clone, Copy)]
pub(crate) enum Origin<'a> {
    /// That of the author, unless others could write to the files: asked when the process starts.
    Author(&'a Live<Option<Confined>>),
    /// That of others. The function gets the protected paths below the workspace.
    Others(&'a (dyn Fn(Vec<PathBuf>) -> Result<Supervisor, Failure> + Sync)),
}

/// Starts processes and watches the files around them.
pub(crate) struct WatchedStart<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) processes: &'a ProcessLauncher,
    pub(crate) redactor: &'a Arc<Redactor>,
    pub(crate) clock: &'a Clock,
    pub(crate) records: Records<'a>,
}

/// Whether the changes of files are recorded.
#[derive(Clone, Copy)]
pub(crate) enum Records<'a> {
    /// Always.
    All,
    /// If others could write to the files, and a person may be asked for an approval: the changes are shown before. The
    /// others are found on disk, if an approval is added to the definition later.
    Confined(&'a Live<Option<Confined>>),
    /// Only those of protected paths.
    Protected,
}

impl<'a> Records<'a> {
    /// All changes if the definition of the step asks for them, else those after others could write.
    pub(crate) fn of_author(all: bool, confined: &'a Live<Option<Confined>>) -> Records<'a> {
        if all { Records::All } else { Records::Confined(confined) }
    }

    fn now(self, workspace: &Workspace) -> bool {
        match self {
            Records::All => true,
            Records::Confined(confined) => {
                workspace.may_ask() && confined.now().is_some_and(|confined| confined.is_foreign())
            }
            Records::Protected => false,
        }
    }
}

/// A process that ended.
pub(crate) struct WatchedProcess {
    pub(crate) exited: ProcessResult,
    pub(crate) process: ProcessEvidence,
    pub(crate) changes: Vec<Change>,
    /// Why it counts as failed: it changed protected paths.
    pub(crate) failure: Option<Failure>,
    pub(crate) supervisor: Supervisor,
    /// Why a command of the author ran in the sandbox.
    pub(crate) confined: Option<Confined>,
}

/// A process that is about to start or runs, and what is compared around it.
pub(crate) struct Watching {
    trace: ProcessTrace,
    watches: Watches,
    pub(crate) supervisor: Supervisor,
    confined: Option<Confined>,
}

/// What is compared before and after a process.
#[derive(Default)]
struct Watches {
    protected: Option<ProtectedWatch>,
    files: Option<WorkspaceWatch>,
}

impl WatchedStart<'_> {
    /// Runs a process to its end. Fails if it must not start.
    pub(crate) async fn run(
        &self,
        spawn: Spawn,
        origin: Origin<'_>,
        cancel: &CancellationToken,
        listener: Option<OutputListener>,
    ) -> Result<WatchedProcess, Failure> {
        let watching = self.watch(&spawn, origin).await?;
        let exited = watching.supervisor.run(spawn, cancel, listener).await;
        if let (Origin::Author(_), None) = (origin, &watching.confined) {
            self.workspace.forget_code_sources();
        }
        Ok(self.end(watching, exited).await)
    }

    /// Begins to watch the files around a process that is about to start. Fails if it must not start.
    pub(crate) async fn watch(
        &self,
        spawn: &Spawn,
        origin: Origin<'_>,
    ) -> Result<Watching, Failure> {
        let trace = self.processes.trace(spawn, self.redactor);
        let mut watches = Watches::default();
        let (supervisor, confined) = loop {
            let by_others = match origin {
                Origin::Author(confined) => {
                    self.processes.can_confine() && confined.now().is_some()
                }
                Origin::Others(_) => true,
            };
            let opening = match origin {
                Origin::Author(confined) => confined.now().map(|confined| confined.opening()),
                Origin::Others(_) => None,
            };
            let git_is_open = self.processes.opens_git(opening.as_deref());
            if by_others {
                let checked = run_blocking(|| self.workspace.require_hooks_elsewhere());
                checked.map_err(|error| error.failure())?;
            }
            self.begin(&mut watches, by_others.then_some(git_is_open)).await;
            if let Some(protected) = &watches.protected {
                protected.require_complete().map_err(|error| error.failure())?;
            }
            let nested = watches.protected.as_ref().map(ProtectedWatch::nested).unwrap_or_default();
            let (supervisor, confined) = run_blocking(|| match origin {
                Origin::Others(supervisor) => Ok((supervisor(nested)?, None)),
                Origin::Author(confined) => {
                    confinement::of_author(self.processes, confined.now(), nested)
                }
            })?;
            // A step could write while the files were read: they are read again.
            let unprotected = confined.is_some() && watches.protected.is_none();
            if let (Origin::Author(_), None) = (origin, &confined) {
                run_blocking(|| self.workspace.require_none_found())?;
            }
            if !unprotected && (watches.files.is_some() || !self.records.now(self.workspace)) {
                break (supervisor, confined);
            }
        };
        Ok(Watching { trace, watches, supervisor, confined })
    }

    /// The changes that a running process has made since its start, or since this was asked before. `None` if they are not
    /// recorded, or if there are none.
    pub(crate) async fn so_far(&self, watching: &mut Watching) -> Option<Vec<Change>> {
        let found = watching.watches.files.as_mut()?.so_far(self.clock).await;
        (!found.changes.is_empty()).then_some(found.changes)
    }

    /// Compares the files after the end of a process.
    pub(crate) async fn end(&self, watching: Watching, exited: ProcessResult) -> WatchedProcess {
        let Watching { trace, watches, supervisor, confined } = watching;
        let process = trace.end(&exited);
        let mut watched = WatchedProcess {
            exited,
            process,
            changes: Vec::new(),
            failure: None,
            supervisor,
            confined,
        };
        self.compare(watches, &mut watched).await;
        watched
    }

    /// Begins the comparisons that have not started yet: that of protected paths for the work of others, which may write
    /// to repositories or not.
    async fn begin(&self, watches: &mut Watches, by_others: Option<bool>) {
        let protected = by_others.filter(|_| watches.protected.is_none());
        let files = self.records.now(self.workspace) && watches.files.is_none();
        // The files are read on other threads meanwhile.
        let (files, protected) = tokio::join!(
            OptionFuture::from(files.then(|| WorkspaceWatch::begin(
                self.workspace,
                self.redactor,
                self.clock
            ))),
            async {
                protected.map(|git_is_open| {
                    run_blocking(|| ProtectedWatch::begin(self.workspace, git_is_open))
                })
            },
        );
        watches.protected = watches.protected.take().or(protected);
        watches.files = watches.files.take().or(files);
    }

    async fn compare(&self, watches: Watches, watched: &mut WatchedProcess) {
        let (files, protected) =
            tokio::join!(OptionFuture::from(watches.files.map(WorkspaceWatch::end)), async {
                watches.protected.map(|protected| run_blocking(|| protected.end()))
            },);
        if let Some(files) = files {
            files.mark(&mut watched.process);
            let WorkspaceChanges { changes, .. } = files;
            watched.changes = changes;
        }
        if let Some(found) = protected {
            // Their states have digests.
            let mut all = found.clone();
            add_new(&mut all, &watched.changes);
            add_new(&mut watched.changes, &found);
            let before = self.workspace.state_before();
            watched.failure = run_blocking(|| protected_failure(&all, self.workspace, before));
        }
    }
}

/// Adds the changes of further paths.
fn add_new(changes: &mut Vec<Change>, more: &[Change]) {
    let known: BTreeSet<String> = changes.iter().map(|change| change.path.clone()).collect();
    changes.extend(more.iter().filter(|change| !known.contains(&change.path)).cloned());
}

/// The failure of a command that changed protected paths, which the sandbox cannot always prevent. The change is not
/// undone, because a person may have edited the file meanwhile, but kept in `before`: nothing starts until it is undone. Blocks.
pub(crate) fn protected_failure(
    changes: &[Change],
    workspace: &Workspace,
    before: Option<&StateBefore>,
) -> Option<Failure> {
    let mut changed = changes.to_vec();
    changed.retain(|change| workspace.is_of_protected(change));
    if let Some(before) = before.filter(|_| !changed.is_empty()) {
        before.keep_found(&changed, workspace.root());
    }
    let message = format!(
        "the command changed protected paths: {}",
        named(changed.into_iter().map(|change| change.path))?
    );
    let help = "undo the change, or accept it: `kb doctor --accept`; then try again";
    Some(Failure::new(Code::PATH_PROTECTED, message).help(help))
}
