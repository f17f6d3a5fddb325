//! What the calls of one client share: the project, and the processes of the runs that it started.

use kb_attempt::run_blocking;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, RunId};
use kb_language::definition::RunEnd;
use kb_process::Detached;
use kb_serve::serve::{errors_of_start, take_errors};
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, Environment, Project, ServiceError};
use kb_service::trigger::{FireState, TriggerStore};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};

/// The project of the working directory and the runs that a client started in it.
#[derive(Debug)]
pub(crate) struct Session {
    environment: Environment,
    /// The runs whose process is running.
    running: Arc<Mutex<BTreeSet<RunId>>>,
}

impl Session {
    pub(crate) fn new(environment: Environment) -> Session {
        Session { environment, running: Arc::default() }
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
        let mut process = spawn(&context, &run, &arguments)?;
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

/// Starts `kb ARGS`; its errors go to the file of the run.
pub(crate) fn spawn(
    context: &ProjectContext,
    run: &RunId,
    args: &[&str],
) -> Result<Detached, ServiceError> {
    let failed = |error: std::io::Error| {
        let message = format!("the process of run `{run}` cannot be started: {error}");
        ServiceError::environment(Failure::new(Code::FILE_UNREADABLE, message))
    };
    let root = context.root.as_os_str().to_owned();
    let mut all: Vec<OsString> = vec!["-C".into(), root, "--quiet".into()];
    all.extend(args.iter().map(OsString::from));
    let errors = errors_of_start(context, run).map_err(failed)?;
    Detached::start(None, &all, &context.environment.variables, &context.root, &errors)
        .map_err(failed)
}

/// Records why a run was not created, and removes the file with the errors of its process.
fn record_end(context: &ProjectContext, run: &RunId) -> Result<(), ServiceError> {
    let said = take_errors(context, run);
    if service::show_run(context, run.as_str()).is_ok() {
        return Ok(());
    }
    let store = TriggerStore::open(&context.state_dir)?;
    if let Some(fire) = store.fire_of(run)?.filter(|fire| fire.state.is_open()) {
        let reason = format!("the run did not start: {said}");
        let end = FireState::Ended(RunEnd::Failed);
        store.ended(&fire, end, Some(&reason), context.clock().wall())?;
    }
    Ok(())
}

fn locked(running: &Mutex<BTreeSet<RunId>>) -> std::sync::MutexGuard<'_, BTreeSet<RunId>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}
