//! Starts the processes of runs. The only place where the daemon and the MCP server start a process.

use kb_base::diagnostic::Code;
use kb_base::value::{Failure, RunId};
use kb_process::Detached;
use kb_service::service::ServiceError;
use kb_service::service::runs::ProjectContext;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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

    /// As [`start_process`]; the process is known until it has ended.
    pub(super) fn start(
        &mut self,
        context: &ProjectContext,
        run: &RunId,
        args: &[&str],
    ) -> Result<(), ServiceError> {
        let process = start_process(context, run, args, self.program.as_deref())?;
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

/// Starts `kb ARGS` in a project, for a run. Its errors go to a file in the state folder. `program` is the `kb` that runs,
/// `None` this program. Must be called in a tokio runtime.
pub fn start_process(
    context: &ProjectContext,
    run: &RunId,
    args: &[&str],
    program: Option<&Path>,
) -> Result<Detached, ServiceError> {
    let failed = |error: io::Error| {
        let message = format!("the process of run `{run}` cannot be started: {error}");
        ServiceError::environment(Failure::new(Code::FILE_UNREADABLE, message))
    };
    let root = context.root.as_os_str().to_owned();
    let mut all: Vec<OsString> = vec!["-C".into(), root, "--quiet".into()];
    all.extend(args.iter().map(OsString::from));
    let errors = errors_of(context, run).map_err(failed)?;
    let variables = &context.environment.variables;
    Detached::start(program, &all, variables, &context.root, &errors).map_err(failed)
}

/// The error message of a process that started no run; removes its file.
pub fn take_errors(context: &ProjectContext, run: &RunId) -> String {
    let Ok(path) = errors_of(context, run) else { return String::new() };
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
fn errors_of(context: &ProjectContext, run: &RunId) -> io::Result<PathBuf> {
    let folder = context.state_dir.join("serve");
    fs::create_dir_all(&folder)?;
    Ok(folder.join(format!("{run}.errors")))
}
