//! Errors of a journal, the same for every back end.

use kb_attempt::is_out_of_space;
use kb_base::value::RunId;
use kb_database::DatabaseError;
use std::io;
use std::path::{Path, PathBuf};

/// Why a journal operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// No run has this id or prefix.
    #[error("no run `{0}`")]
    NoRun(String),
    /// A prefix matches several runs.
    #[error("`{prefix}` matches {count} runs")]
    Ambiguous {
        /// The given prefix.
        prefix: String,
        /// Number of runs that match.
        count: usize,
    },
    /// Another process owns the lease of the run.
    #[error("run `{run}` is leased by another process")]
    Leased {
        /// The run that another process drives.
        run: String,
        /// Process id of the lease owner; 0 if it is unknown.
        pid: u32,
    },
    /// This process no longer owns the lease: another process acquired it with a later epoch.
    #[error("this process no longer owns the lease of run `{0}`")]
    LeaseLost(String),
    /// A newer `kb` wrote the journal.
    #[error("the journal has version {found}; this `kb` reads up to {known}")]
    Newer {
        /// Version of the journal.
        found: i64,
        /// Newest version that this `kb` reads.
        known: i64,
    },
    /// No space left: the disk or a quota is full, or a file reached its maximum size.
    #[error("the disk of the journal is full{}", in_folder(.0.as_deref()))]
    Full(Option<PathBuf>),
    /// The disk failed.
    #[error("{what}{}", in_folder(folder.as_deref()))]
    Disk {
        /// The failed operation and the error of the system.
        what: String,
        /// Folder of the journal, if known.
        folder: Option<PathBuf>,
    },
    /// Another process kept the journal locked for longer than a writer waits.
    #[error("another process has locked the journal")]
    Locked,
    /// The user has no permission to read or write the journal.
    #[error("{0}")]
    Denied(String),
    /// A file of the journal was removed or replaced while this process used it. Writes to it are
    /// lost once the process ends.
    #[error("the journal was removed or replaced during the run: `{}`", .0.display())]
    Lost(PathBuf),
    /// Stored data is missing or does not match its digest.
    #[error("{0}")]
    Damaged(String),
    /// Any other failure of the back end.
    #[error("{0}")]
    Broken(String),
}

impl JournalError {
    /// An append that does not follow the last event: the writer and the journal disagree.
    pub(super) fn out_of_sequence(run: &RunId, expected: u64, last: u64) -> JournalError {
        JournalError::Broken(format!(
            "run `{run}` has {last} events, but the writer expected {expected}"
        ))
    }

    /// A second `create` of the same run.
    pub(super) fn exists(run: &RunId) -> JournalError {
        JournalError::Broken(format!("run `{run}` exists already"))
    }

    /// A removal of a run that has not ended.
    pub(super) fn not_ended(run: &RunId) -> JournalError {
        JournalError::Broken(format!("run `{run}` has not ended"))
    }

    /// Classifies the error of a file operation.
    pub(super) fn of_file(what: &str, path: &Path, error: &io::Error) -> JournalError {
        if is_out_of_space(error) {
            return JournalError::Full(path.parent().map(Path::to_owned));
        }
        let text = format!("cannot {what} `{}`: {error}", path.display());
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                JournalError::Denied(text)
            }
            _ => JournalError::Broken(text),
        }
    }
}

impl From<DatabaseError> for JournalError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::File { what, path, error } => JournalError::of_file(what, &path, &error),
            DatabaseError::Newer { found, known, .. } => JournalError::Newer { found, known },
            DatabaseError::Sqlite(error) => error.into(),
            DatabaseError::NoSharedMemory(_) => JournalError::Broken(error.to_string()),
        }
    }
}

fn in_folder(folder: Option<&Path>) -> String {
    folder.map(|folder| format!(": `{}`", folder.display())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denied_access_is_distinguished_from_damage() {
        let of = |kind: io::ErrorKind| JournalError::of_file("make", Path::new("/s"), &kind.into());
        assert_eq!(
            of(io::ErrorKind::PermissionDenied),
            JournalError::Denied("cannot make `/s`: permission denied".into())
        );
        assert!(matches!(of(io::ErrorKind::ReadOnlyFilesystem), JournalError::Denied(_)));
        assert!(matches!(of(io::ErrorKind::NotADirectory), JournalError::Broken(_)));
        assert_eq!(of(io::ErrorKind::StorageFull), JournalError::Full(Some("/".into())));
    }
}
