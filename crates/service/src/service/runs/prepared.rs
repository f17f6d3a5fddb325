//! A run that this process has the lease of and has not started to drive.

use super::concurrency::{WaitNotice, enter};
use super::context::ProjectContext;
use super::expectation::Expectation;
use super::predecessor::Predecessor;
use super::trees::sweep;
use crate::service::ServiceError;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, JsonMap, RunId};
use kb_clock::Clock;
use kb_core::redaction::{Mask, Redactor};
use kb_core::wire::Event;
use kb_engine::engine::{self, EventSender, RunControl, Setup, Summary};
use kb_engine::inspect::LiveReader;
use kb_engine::journal::LockRequest;
use kb_host::isolation::Trees;
use kb_host::tool::McpServers;
use kb_language::plan::Plan;
use kb_process::wait_for_orphans_of;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;

/// A run that is ready to be driven. Between preparing and driving it, a display can attach.
pub struct Prepared {
    pub(super) context: ProjectContext,
    pub(super) setup: Setup,
    /// The worktrees and copies that the run uses.
    pub(super) trees: Trees,
    /// The MCP servers of the run. Their sessions end with it.
    pub(super) servers: Arc<McpServers>,
    pub(super) changed: Vec<String>,
    pub(super) strict: bool,
    /// The process id of the previous lease owner, if it was killed. Its processes must end first.
    pub(super) killed_owner: Option<u32>,
    /// The place of the run in its concurrency group, if it has entered it.
    pub(super) group: Option<LockRequest>,
    pub(super) predecessor: Option<Predecessor>,
}

impl Prepared {
    /// The project of the run.
    pub fn context(&self) -> &ProjectContext {
        &self.context
    }

    /// The last run of the definition, if it could have been continued instead. Only for requests that
    /// ask for it.
    pub fn predecessor(&self) -> Option<&Predecessor> {
        self.predecessor.as_ref()
    }

    /// The id of the run.
    pub fn run(&self) -> &RunId {
        &self.setup.run
    }

    /// The plan of the run.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.setup.plan
    }

    /// The name with which `kb playbook run` finds the definition of this run: its id, or its path
    /// if the file is not in a folder that projects load definitions from.
    pub fn definition_name(&self) -> &str {
        let playbook = self.setup.plan.playbook();
        let loaded = ["playbooks", "workflows", ".kb/playbooks", ".kb/workflows"].map(Path::new);
        let path = Path::new(&playbook.path);
        if loaded.iter().any(|folder| path.starts_with(folder)) {
            playbook.id.as_str()
        } else {
            &playbook.path
        }
    }

    /// Definition files that changed on disk since the run started; the run keeps the old texts.
    pub fn changed_files(&self) -> &[String] {
        &self.changed
    }

    /// Whether steps whose gate did not pass fail the command (`verifier.strict`).
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// How long the run is expected to take.
    pub fn expectation(&self) -> Expectation {
        let journal = self.setup.parts.journal.clone();
        Expectation::new(journal, &self.setup.plan, self.setup.history.is_empty())
    }

    /// The clock, for displays.
    pub fn clock(&self) -> &Clock {
        self.context.clock()
    }

    /// A reader for the events of this run. `replayed` receives the events that exist already.
    pub fn live_reader(&self, replayed: &mut dyn FnMut(&Event)) -> LiveReader {
        let (run, plan) = (self.setup.run.clone(), self.setup.plan.clone());
        let parts = &self.setup.parts;
        let (journal, clock) = (parts.journal.clone(), parts.clock.clone());
        LiveReader::new(run, plan, journal, clock, &self.setup.history, replayed)
    }

    /// Drives the run until it ends, waits for people only, or is stopped by a command.
    pub async fn drive(
        self,
        events: Option<EventSender>,
        control: UnboundedReceiver<RunControl>,
    ) -> Result<Summary, ServiceError> {
        let redactor = self.setup.parts.redactor.clone();
        let driven = self.drive_with(events, control, &redactor).await;
        driven.map_err(|error| error.masked_by(&redactor))
    }

    async fn drive_with(
        self,
        events: Option<EventSender>,
        control: UnboundedReceiver<RunControl>,
        redactor: &Arc<Redactor>,
    ) -> Result<Summary, ServiceError> {
        if let Some(pid) = self.killed_owner {
            wait_for_orphans_of(pid).await;
        }
        let run = self.setup.run.clone();
        let _group = match self.group {
            Some(group) => Some(group),
            None => {
                let Setup { parts, plan, params, run, .. } = &self.setup;
                let none = JsonMap::new();
                let params = params.as_object().unwrap_or(&none);
                let notice = WaitNotice::default();
                enter(plan.playbook(), params, run, &*parts.journal, &notice, &Default::default())
                    .await?
            }
        };
        let journal = self.setup.parts.journal.clone();
        sweep(&self.context, &*journal).await;
        let driven = engine::drive(self.setup, events, control).await;
        self.servers.close().await;
        self.trees.let_go();
        sweep(&self.context, &*journal).await;
        let summary = driven?;
        if let Some(recorder) = &self.context.recorder {
            recorder.write(redactor).map_err(|error| {
                let ((verb, state), path) = (summary.status.words(), recorder.script().display());
                let message = format!(
                    "run `{run}` {verb} {state}, but its script could not be written to `{path}`: {error}"
                );
                let code = Code::JOURNAL_UNUSABLE;
                ServiceError::environment(Failure::new(code, message))
            })?;
        }
        Ok(summary)
    }
}
