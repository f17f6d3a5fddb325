//! What the calls of one client share: the project, and the processes of the runs that it started.

use kb_attempt::run_blocking;
use kb_base::value::RunId;
use kb_language::definition::RunEnd;
use kb_serve::serve::{DaemonHandle, start_process, take_errors};
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, Environment, Project, ServiceError};
use kb_service::trigger::{FireState, TriggerStore};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The project of the working directory and the runs that a client started in it.
#[derive(Debug)]
pub(crate) struct Session {
    environment: Environment,
    /// The daemon that starts the runs; `None`: this session does.
    daemon: Option<DaemonHandle>,
    /// The runs whose process is running.
    running: Arc<Mutex<BTreeSet<RunId>>>,
}

impl Session {
    pub(crate) fn new(environment: Environment) -> Session {
        Session { environment, daemon: None, running: Arc::default() }
    }

    /// A session whose runs wait in the queues of a daemon.
    pub(crate) fn of_daemon(environment: Environment, daemon: DaemonHandle) -> Session {
        Session { daemon: Some(daemon), ..Session::new(environment) }
    }

    /// The daemon that starts the runs.
    pub(crate) fn daemon(&self) -> Option<&DaemonHandle> {
        self.daemon.as_ref()
    }

    /// The project as its files are now.
    pub(crate) fn project(&self) -> Result<Project, ServiceError> {
        run_blocking(|| Project::find(&self.environment))
    }

    pub(crate) fn context(&self) -> Result<ProjectContext, ServiceError> {
        ProjectContext::find(&self.environment)
    }

    /// Starts the process of a recorded start. It does not end with this one; if it ends without a run, the reason is
    /// recorded.
    pub(crate) fn start(
        &self,
        context: ProjectContext,
        run: RunId,
        playbook: &str,
    ) -> Result<(), ServiceError> {
        let arguments = ["playbook", "run", playbook, "--fire", run.as_str()];
        let mut process = start_process(&context, &run, &arguments, None)?;
        locked(&self.running).insert(run.clone());
        let running = self.running.clone();
        tokio::spawn(async move {
            process.ended().await;
            // The process of a run that was created has its errors in the journal.
            let _ = run_blocking(|| record_end(&context, &run));
            locked(&running).remove(&run);
        });
        Ok(())
    }

    /// Whether a process that this session started for the run is running.
    pub(crate) fn is_running(&self, run: &RunId) -> bool {
        locked(&self.running).contains(run)
    }
}

/// Records why a run was not created, and removes the file with the errors of its process.
fn record_end(context: &ProjectContext, run: &RunId) -> Result<(), ServiceError> {
    let said = take_errors(context, run);
    if service::show_run(context, run.as_str()).is_ok() {
        return Ok(());
    }
    let store = TriggerStore::open(&context.state_dir)?;
    if let Some(fire) = store.fire_of(run)?.filter(|fire| fire.state.is_open()) {
        let why = if said.is_empty() { "its process ended without a message" } else { &*said };
        let reason = format!("the run did not start: {why}");
        let end = FireState::Ended(RunEnd::Failed);
        store.ended(&fire, end, Some(&reason), context.clock().wall())?;
    }
    Ok(())
}

fn locked(running: &Mutex<BTreeSet<RunId>>) -> std::sync::MutexGuard<'_, BTreeSet<RunId>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}
