use crate::value::RunId;
use std::io;
use std::path::Path;

/// Why the journal cannot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// No such run; names the nearest.
    #[error("no run `{0}`")]
    NoRun(String),
    /// A prefix names several runs.
    #[error("`{prefix}` names {count} runs")]
    Ambiguous {
        /// What was given.
        prefix: String,
        /// How many it fits.
        count: usize,
    },
    /// Another holder has the run.
    #[error("run `{run}` has another holder")]
    Held {
        /// Which run.
        run: String,
        /// The holder's process id.
        pid: u32,
    },
    /// This holder's epoch is over.
    #[error("this process no longer holds run `{0}`")]
    Stale(String),
    /// Written by a newer `kb`.
    #[error("the journal has version {found}; this `kb` reads up to {known}")]
    Newer {
        /// The file's version.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// No room.
    #[error("the disk that holds the journal is full")]
    Full,
    /// Anything else of the disk or the database.
    #[error("{0}")]
    Broken(String),
}

impl JournalError {
    /// A write that does not follow the last event: its writer and the journal disagree, and
    /// neither may guess.
    pub(super) fn wrong_place(run: &RunId, expected: u64, last: u64) -> JournalError {
        JournalError::Broken(format!(
            "run `{run}` has {last} events where its holder counts {expected}"
        ))
    }

    /// What an operation on a file of the journal met.
    pub(super) fn of_file(what: &str, path: &Path, error: &io::Error) -> JournalError {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => JournalError::Full,
            _ => JournalError::Broken(format!("cannot {what} `{}`: {error}", path.display())),
        }
    }
}
