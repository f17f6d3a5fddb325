//! Starts the processes of runs. The only place where the daemon starts a process.

use kb_base::diagnostic::Code;
use kb_base::value::{Failure, RunId};
use kb_process::Detached;
use kb_service::service::ServiceError;
use kb_service::service::runs::ProjectContext;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;

/// The processes that this daemon started and that have not ended.
#[derive(Debug)]
pub(super) struct Processes {
    /// The `kb` that runs; `None`: this program.
    program: Option<PathBuf>,
    running: Vec<(RunId, Detached)>,
}

/// The maximum length of an error message that is kept.
const LONGEST: usize = 2000;

impl Processes {
    /// No process yet; `program` is the `kb` that runs, `None` this program.
    pub(super) fn new(program: Option<PathBuf>) -> Processes {
        Processes { program, running: Vec::new() }
    }

    /// Starts `kb ARGS` in a project, for a run. Its errors go to a file in the state folder.
    pub(super) fn start(
        &mut self,
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
        let program = self.program.as_deref();
        let variables = &context.environment.variables;
        let errors = errors_of_start(context, run).map_err(failed)?;
        let process = Detached::start(program, &all, variables, &context.root, &errors);
        let process = process.map_err(failed)?;
        self.running.push((run.clone(), process));
        Ok(())
    }

    /// Whether a process for this run is running.
    pub(super) fn has(&self, run: &RunId) -> bool {
        self.running.iter().any(|(own, _)| own == run)
    }

    /// Forgets the processes that have ended and returns their runs.
    pub(super) fn reap(&mut self) -> Vec<RunId> {
        let mut ended = Vec::new();
        self.running.retain_mut(|(run, process)| {
            let gone = process.has_ended();
            if gone {
                ended.push(run.clone());
            }
            !gone
        });
        ended
    }

    /// Waits until a process ends; for ever if there is none. Cancel safe.
    pub(super) async fn any_ended(&mut self) {
        if self.running.is_empty() {
            return std::future::pending().await;
        }
        let waits = self.running.iter_mut().map(|(_, process)| Box::pin(process.ended()));
        futures::future::select_all(waits).await;
    }
}

/// The error message of a process that started no run; removes its file.
pub fn take_errors(context: &ProjectContext, run: &RunId) -> String {
    let Ok(path) = errors_of_start(context, run) else { return String::new() };
    let bytes = fs::read(&path).unwrap_or_default();
    let _ = fs::remove_file(&path);
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]).into_owned();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(6);
    lines.collect::<Vec<_>>().join(" · ")
}

/// Whether a process ended for a reason that passes without a change of the project: a journal that is locked, or
/// whose disk is full.
pub(super) fn is_passing(said: &str) -> bool {
    [Code::JOURNAL_LOCKED, Code::JOURNAL_FULL]
        .iter()
        .any(|code| said.contains(&format!("error[{code}]")))
}

/// The file for the errors of the process of a run. Its folder exists afterwards.
pub fn errors_of_start(context: &ProjectContext, run: &RunId) -> io::Result<PathBuf> {
    let folder = context.state_dir.join("serve");
    fs::create_dir_all(&folder)?;
    Ok(folder.join(format!("{run}.errors")))
}
