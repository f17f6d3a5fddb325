//! Exit codes, and the mapping of errors to messages, help and exit codes.

use super::render::diagnostics;
use super::render::message_text;
use super::terminal::{ERROR, HINT, Terminal, paint};
use kb_base::diagnostic::Code;
use kb_service::service::runs::ProjectContext;
use kb_service::service::{
    Environment, InspectError, JournalError, ResourceKind, RunStatus, ServiceError,
};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit codes of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// The command did what was asked; a run succeeded.
    Done = 0,
    /// The run failed or was cancelled.
    RunFailed = 1,
    /// Invalid usage or definition.
    BadInput = 2,
    /// The run waits for an answer or budget.
    Waiting = 3,
    /// The named thing does not exist.
    NotFound = 4,
    /// The journal or the environment cannot be used.
    Unusable = 5,
    /// The journal was written by a newer version.
    NewerJournal = 6,
    /// Stopped by SIGINT.
    Interrupted = 130,
    /// Stopped by SIGTERM.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// The result of a command: the exit code, or why the command failed.
pub(super) type CliResult = Result<Exit, CliError>;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// An error of a use case.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// stdout or stderr cannot be written.
    #[error("cannot write the output: {0}")]
    Stream(#[from] io::Error),
    /// The project has no run of this name.
    #[error("{error} in the project `{}`", root.display())]
    UnknownRun {
        /// The run, and those that exist.
        error: ServiceError,
        /// The root of the project.
        root: PathBuf,
    },
    /// The arguments are invalid.
    #[error("{message}")]
    Usage {
        /// Description of the problem.
        message: String,
        /// The fix, if one is known.
        help: Option<String>,
    },
}

impl From<InspectError> for CliError {
    fn from(error: InspectError) -> Self {
        CliError::Service(error.into())
    }
}

impl CliError {
    /// The folder of `-C` cannot be used.
    pub(super) fn directory(folder: &Path, error: &io::Error) -> Self {
        let message = format!("cannot change to directory `{}`: {error}", folder.display());
        CliError::Usage { message, help: None }
    }

    /// Adds the project to an error for an unknown run: a run is known only there.
    pub(super) fn in_project(self, environment: &Environment) -> Self {
        match self {
            CliError::Service(error @ ServiceError::Unknown { kind: ResourceKind::Run, .. }) => {
                match ProjectContext::find(environment) {
                    Ok(context) => CliError::UnknownRun { error, root: context.root },
                    Err(_) => CliError::Service(error),
                }
            }
            other => other,
        }
    }

    fn exit(&self) -> Exit {
        match self {
            CliError::Usage { .. } => Exit::BadInput,
            CliError::Stream(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            CliError::Stream(_) => Exit::Unusable,
            CliError::UnknownRun { .. } => Exit::NotFound,
            CliError::Service(error) => match error {
                ServiceError::NoProject { .. } | ServiceError::Unknown { .. } => Exit::NotFound,
                ServiceError::Definitions { .. } | ServiceError::Refused(_) => Exit::BadInput,
                ServiceError::Environment(_) => Exit::Unusable,
                ServiceError::Journal(error) => match error {
                    JournalError::NoRun(_) | JournalError::Ambiguous { .. } => Exit::NotFound,
                    JournalError::Newer { .. } => Exit::NewerJournal,
                    JournalError::Leased { .. }
                    | JournalError::LeaseLost(_)
                    | JournalError::Full(_)
                    | JournalError::Disk { .. }
                    | JournalError::Locked
                    | JournalError::Denied(_)
                    | JournalError::Lost(_)
                    | JournalError::Damaged(_)
                    | JournalError::Broken(_) => Exit::Unusable,
                },
            },
        }
    }
}

/// Prints the error, if there is one, and returns the exit code. A closed stdout is not reported.
pub(super) fn finish(result: Result<Exit, CliError>, terminal: &mut Terminal) -> Exit {
    let error = match result {
        Ok(exit) => return exit,
        Err(error) => error,
    };
    let exit = error.exit();
    if exit != Exit::Done {
        // If stderr is closed too, only the exit code remains.
        let _ = explain(&error, terminal);
    }
    exit
}

fn explain(error: &CliError, terminal: &mut Terminal) -> io::Result<()> {
    if let CliError::Service(error @ ServiceError::Definitions { diagnostics: all, sources }) =
        error
    {
        diagnostics::print(all, sources, terminal)?;
        return error.help().map_or(Ok(()), |help| hint(terminal, &help));
    }
    let (code, help) = match error {
        CliError::Service(service) => (service.code(), service.help()),
        CliError::Usage { help, .. } => (None, help.clone()),
        CliError::UnknownRun { error, .. } => {
            let known = error.help().unwrap_or_default();
            let help = format!("{known}; for a run of another project add `-C FOLDER`");
            (error.code(), Some(help))
        }
        CliError::Stream(_) => {
            (None, Some("check where stdout and stderr are redirected to".to_owned()))
        }
    };
    line(terminal, &error.to_string(), code)?;
    match help {
        Some(help) => hint(terminal, &help),
        None => Ok(()),
    }
}

fn line(terminal: &mut Terminal, message: &str, code: Option<Code>) -> io::Result<()> {
    let code = code.map(|code| format!("[{code}]")).unwrap_or_default();
    let message = message_text(message);
    terminal.err(&format!("{}: {message}\n", paint(ERROR, &format!("error{code}"))))
}

fn hint(terminal: &mut Terminal, help: &str) -> io::Result<()> {
    terminal.err(&format!("  {} {}\n", paint(HINT, "help:"), message_text(help)))
}

/// The exit code of a run with this status.
pub(super) fn exit_of(status: RunStatus, signalled: Option<Exit>) -> Exit {
    match status {
        RunStatus::Succeeded => Exit::Done,
        RunStatus::Failed | RunStatus::Cancelled => Exit::RunFailed,
        RunStatus::Waiting => Exit::Waiting,
        RunStatus::Interrupted | RunStatus::Running => signalled.unwrap_or(Exit::RunFailed),
    }
}
