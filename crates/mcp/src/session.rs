//! What the calls of one client share: the project, and the processes of the runs that it started.

use kb_attempt::run_blocking;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, RunId};
use kb_process::Detached;
use kb_serve::serve::errors_of_start;
use kb_service::service::runs::ProjectContext;
use kb_service::service::{Environment, Project, ServiceError};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};

/// The project of the working directory and the runs that a client started in it.
#[derive(Debug)]
pub(crate) struct Session {
    environment: Environment,
    processes: Mutex<BTreeMap<RunId, Detached>>,
}

impl Session {
    pub(crate) fn new(environment: Environment) -> Session {
        Session { environment, processes: Mutex::default() }
    }

    /// The project as its files are now.
    pub(crate) fn project(&self) -> Result<Project, ServiceError> {
        run_blocking(|| Project::find(&self.environment))
    }

    pub(crate) fn context(&self) -> Result<ProjectContext, ServiceError> {
        ProjectContext::find(&self.environment)
    }

    /// Starts `kb ARGS` for a run. The process does not end with this one.
    pub(crate) fn start(
        &self,
        context: &ProjectContext,
        run: &RunId,
        args: &[&str],
    ) -> Result<(), ServiceError> {
        let failed = |error: std::io::Error| {
            let message = format!("the process of run `{run}` cannot be started: {error}");
            ServiceError::environment(Failure::new(Code::FILE_UNREADABLE, message))
        };
        let root = context.root.as_os_str().to_owned();
        let mut all: Vec<OsString> = vec!["-C".into(), root, "--quiet".into()];
        all.extend(args.iter().map(OsString::from));
        let errors = errors_of_start(context, run).map_err(failed)?;
        let variables = &context.environment.variables;
        let process = Detached::start(None, &all, variables, &context.root, &errors);
        let process = process.map_err(failed)?;
        self.processes().insert(run.clone(), process);
        Ok(())
    }

    /// Whether a process that this session started for the run is running; `None`: it started none.
    pub(crate) fn is_running(&self, run: &RunId) -> Option<bool> {
        self.processes().get_mut(run).map(|process| !process.has_ended())
    }

    fn processes(&self) -> std::sync::MutexGuard<'_, BTreeMap<RunId, Detached>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
