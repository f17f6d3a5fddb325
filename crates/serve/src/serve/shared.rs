//! What the daemon shares with other tasks of its process, such as the HTTP server.

use super::catalog::TriggerCatalog;
use super::telemetry::Telemetry;
use kb_base::value::RunId;
use kb_core::redaction::Redactor;
use kb_engine::journal::Journal;
use kb_service::service::runs::ProjectContext;
use kb_service::service::{Project, learn_secrets};
use kb_service::trigger::TriggerStore;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

/// Wakes a daemon from another task of its process, after a write to a store.
#[derive(Debug, Clone, Default)]
pub struct DaemonHandle {
    pub(super) wake: Arc<Notify>,
    commands: Arc<Mutex<VecDeque<RunCommand>>>,
    turned: Arc<Mutex<Option<Instant>>>,
}

/// A `kb` that the daemon starts for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCommand {
    /// The project.
    pub root: PathBuf,
    /// Id of the run that it starts or continues.
    pub run: RunId,
    /// The arguments, such as `run resume RUN`.
    pub args: Vec<String>,
}

/// Maximum number of commands that wait for the daemon.
const MOST_COMMANDS: usize = 1000;

impl DaemonHandle {
    /// Asks the daemon to start a process for a run. Returns false if too many wait.
    #[must_use]
    pub fn start(&self, command: RunCommand) -> bool {
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        if commands.len() >= MOST_COMMANDS {
            return false;
        }
        commands.push_back(command);
        drop(commands);
        self.wake();
        true
    }

    pub(super) fn next_command(&self) -> Option<RunCommand> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// The loop of the daemon begins or ends a turn.
    pub(super) fn turn(&self) {
        *self.turned.lock().unwrap_or_else(PoisonError::into_inner) = Some(kb_clock::instant());
    }

    /// How long ago the loop of the daemon began or ended a turn; `None` before the first one.
    pub fn since_turn(&self) -> Option<Duration> {
        let turned = *self.turned.lock().unwrap_or_else(PoisonError::into_inner);
        turned.map(|turned| kb_clock::instant().saturating_duration_since(turned))
    }

    /// Ends the sleep of the daemon.
    pub fn wake(&self) {
        self.wake.notify_one();
    }
}

/// The definitions of a served project as they are now, and its problem.
#[derive(Clone)]
pub struct ProjectState {
    /// The definitions.
    pub project: Arc<Project>,
    /// Their triggers.
    pub triggers: Arc<TriggerCatalog>,
    /// What keeps the daemon from serving the project.
    pub problem: Option<String>,
}

/// A served project, with connections of its own to the trigger store.
#[derive(Clone)]
pub struct SharedProject {
    /// The folders of the project.
    pub context: ProjectContext,
    /// The trigger store.
    pub store: Arc<TriggerStore>,
    /// Where the runs of the project are recorded.
    pub journal: Arc<dyn Journal>,
    /// Wakes the daemon after a write.
    pub daemon: DaemonHandle,
    /// What the daemon counts.
    pub telemetry: Telemetry,
    pub(super) redactor: Arc<Redactor>,
    pub(super) state: watch::Receiver<ProjectState>,
}

impl SharedProject {
    /// Makes the store mask the secrets of the settings as they are now.
    pub fn learn_secrets(&self) {
        learn_secrets(&self.state().project, &self.redactor);
    }

    /// The redactor with the secrets of the settings as they are now.
    pub fn redactor(&self) -> &Redactor {
        self.learn_secrets();
        &self.redactor
    }

    /// The definitions as they are now.
    pub fn state(&self) -> ProjectState {
        self.state.borrow().clone()
    }
}
