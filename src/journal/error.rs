use crate::value::RunId;
use std::io;
use std::path::{Path, PathBuf};

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
    Leased {
        /// Which run.
        run: String,
        /// The holder's process id.
        pid: u32,
    },
    /// This holder's epoch is over.
    #[error("this process no longer holds run `{0}`")]
    LeaseLost(String),
    /// Written by a newer `kb`.
    #[error("the journal has version {found}; this `kb` reads up to {known}")]
    Newer {
        /// The file's version.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// No room: on the disk, in a quota, or up to the largest size that a file may have.
    #[error("the disk that holds the journal is full{}", in_folder(.0.as_deref()))]
    Full(Option<PathBuf>),
    /// The disk does not do what it should.
    #[error("{what}{}", in_folder(folder.as_deref()))]
    Disk {
        /// What it does not do, and what the system says.
        what: String,
        /// Where, as far as it is known.
        folder: Option<PathBuf>,
    },
    /// The system does not let this user read or write it.
    #[error("{0}")]
    Denied(String),
    /// What should be in the journal is not there, or not as it was stored.
    #[error("{0}")]
    Damaged(String),
    /// Anything else of the database.
    #[error("{0}")]
    Broken(String),
}

impl JournalError {
    /// A write that does not follow the last event: its writer and the journal disagree, and
    /// neither may guess.
    pub(super) fn out_of_sequence(run: &RunId, expected: u64, last: u64) -> JournalError {
        JournalError::Broken(format!(
            "run `{run}` has {last} events where its holder counts {expected}"
        ))
    }

    /// What an operation on a file of the journal met.
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

/// Whether room is what is missing: the disk, a quota, or a limit of the size of files (`ulimit -f`).
pub(super) fn is_out_of_space(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

fn in_folder(folder: Option<&Path>) -> String {
    folder.map(|folder| format!(": `{}`", folder.display())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_does_not_let_happen_is_told_apart_from_damage() {
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
