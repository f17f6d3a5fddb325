//! How the process ends: the one place that maps errors to messages, hints and exit codes.

use super::render::diagnostics;
use super::terminal::{ERROR, HINT, Terminal, paint};
use crate::service::{JournalError, ServiceError};
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// The exit codes of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// Done; the run succeeded.
    Done = 0,
    /// The run failed, or was cancelled from elsewhere.
    RunFailed = 1,
    /// Bad usage or definition.
    BadInput = 2,
    /// The run waits for people or budget alone.
    Waiting = 3,
    /// What was named is not there.
    NotFound = 4,
    /// Journal or environment unusable.
    Unusable = 5,
    /// The journal is of a newer version.
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

/// Why a command could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// A use case says so.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// A stream of ours is closed or broken.
    #[error(transparent)]
    Stream(#[from] io::Error),
    /// The arguments do not go together.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// The mend.
        help: Option<String>,
    },
}

impl CliError {
    /// `-C` names a folder that cannot be entered.
    pub(super) fn directory(folder: &Path, error: &io::Error) -> Self {
        let message = format!("the folder `{}` cannot be entered: {error}", folder.display());
        CliError::Usage { message, help: None }
    }

    fn exit(&self) -> Exit {
        match self {
            CliError::Usage { .. } => Exit::BadInput,
            CliError::Stream(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            CliError::Stream(_) => Exit::Unusable,
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
                    | JournalError::Denied(_)
                    | JournalError::Damaged(_)
                    | JournalError::Broken(_) => Exit::Unusable,
                },
            },
        }
    }
}

/// Says what went wrong, if something did, and gives the exit code. A closed stdout says nothing.
pub(super) fn finish(result: Result<Exit, CliError>, terminal: &mut Terminal) -> Exit {
    let error = match result {
        Ok(exit) => return exit,
        Err(error) => error,
    };
    let exit = error.exit();
    if exit != Exit::Done {
        // Where stderr is closed too, the exit code is all that is left to say.
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
        CliError::Stream(_) => (None, None),
    };
    line(terminal, &error.to_string(), code)?;
    match help {
        Some(help) => hint(terminal, &help),
        None => Ok(()),
    }
}

fn line(terminal: &mut Terminal, message: &str, code: Option<&str>) -> io::Result<()> {
    let code = code.map(|code| format!("[{code}]")).unwrap_or_default();
    terminal.err(&format!("{}: {message}\n", paint(ERROR, &format!("error{code}"))))
}

fn hint(terminal: &mut Terminal, help: &str) -> io::Result<()> {
    terminal.err(&format!("  {} {help}\n", paint(HINT, "help:")))
}
