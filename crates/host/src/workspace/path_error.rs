//! Errors of the path guard, with their codes and help.

use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_core::evidence::FileKind;
use rustix::io::Errno;
use std::path::{Component, Path};

/// The reason why the path guard refuses a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path is an empty string.
    #[error("the path is empty")]
    Empty,
    /// The path contains a NUL character.
    #[error("the path contains a NUL character")]
    Nul,
    /// The path leads out of the workspace, by itself or through a link.
    #[error("`{0}` leads out of the workspace")]
    Outside(String),
    /// The path is protected against writing.
    #[error("`{path}` is in `{protected}`, which tools may not change")]
    Protected {
        /// The path as it was given.
        path: String,
        /// The protected path that contains it.
        protected: String,
    },
    /// The path is in the state of `kb`, which holds tokens and the records of runs.
    #[error("`{0}` is in the state of `kb`, which only `kb` reads")]
    State(String),
    /// Git executes hooks of the workspace itself, so that each file of it may be one. It has the setting.
    #[error(
        "git executes hooks of the project folder itself, by {0}, so that each file of it could be one"
    )]
    AllHooks(String),
    /// Git does not tell its settings, so that each file of the workspace may be one that it executes.
    #[error("git does not list its settings, so that it may execute each file of the project: {0}")]
    UnknownSettings(String),
    /// There is more in the workspace than can be searched for protected paths.
    #[error("{0}")]
    TooMuch(String),
    /// The path rules of a setting forbid it.
    #[error("the settings do not allow `{tool}` to access `{path}`")]
    Forbidden {
        /// The path as it was given.
        path: String,
        /// The name of the tool that asked.
        tool: String,
    },
    /// The path does not exist.
    #[error("`{0}` does not exist")]
    Missing(String),
    /// The path names another kind of file than the one required.
    #[error("`{path}` is {is}, not {wanted}")]
    WrongKind {
        /// The path as it was given.
        path: String,
        /// The actual kind, with its article.
        is: &'static str,
        /// The required kind, with its article.
        wanted: &'static str,
    },
    /// The glob has a syntax error.
    #[error("`{glob}` is not a valid glob: {why}")]
    BadGlob {
        /// The glob as it was written.
        glob: String,
        /// The reason given by the glob parser.
        why: String,
    },
    /// The state folder of `kb` cannot be written, so that a killed command could not be compared later.
    #[error("the state before the command cannot be stored: {error}")]
    Unstored {
        /// The message of the operating system.
        error: String,
        /// Whether the disk or a quota is full.
        is_full: bool,
    },
    /// The operating system reports an error.
    #[error("`{path}`: {error}")]
    Io {
        /// The path as it was given.
        path: String,
        /// The message of the operating system.
        error: String,
    },
}

impl PathError {
    /// An error of the operating system.
    pub(crate) fn io(path: &str, error: impl std::fmt::Display) -> Self {
        PathError::Io { path: path.to_owned(), error: error.to_string() }
    }

    /// The state before a command cannot be stored.
    pub(crate) fn unstored(error: &std::io::Error) -> Self {
        let is_full = kb_attempt::is_out_of_space(error);
        PathError::Unstored { error: error.to_string(), is_full }
    }

    /// Whether a rule forbids the path, as opposed to a missing file or an I/O error.
    pub fn is_denial(&self) -> bool {
        matches!(
            self,
            PathError::Nul
                | PathError::Outside(_)
                | PathError::Protected { .. }
                | PathError::State(_)
                | PathError::AllHooks(_)
                | PathError::UnknownSettings(_)
                | PathError::TooMuch(_)
                | PathError::Forbidden { .. }
        )
    }

    /// The failure shown to steps and models.
    pub fn failure(&self) -> Failure {
        let (code, help) = match self {
            PathError::Empty | PathError::Nul | PathError::BadGlob { .. } => {
                (Code::BAD_PATH, "pass a path relative to the project root, such as `src/main.rs`")
            }
            PathError::Outside(_) => (
                Code::PATH_OUTSIDE,
                "pass a path relative to the project root that stays inside it; symbolic links are followed",
            ),
            PathError::Protected { .. } => (
                Code::PATH_PROTECTED,
                "only people change definitions, settings and repository data; write to another path",
            ),
            PathError::State(_) => (
                Code::PATH_PROTECTED,
                "set XDG_STATE_HOME to a folder outside of the project; `kb run show` shows what a run did",
            ),
            PathError::AllHooks(_) => (
                Code::PATH_PROTECTED,
                "move the hooks to a folder of their own, such as `.githooks`, and set `core.hooksPath` to it",
            ),
            PathError::UnknownSettings(_) => (
                Code::PATH_PROTECTED,
                "install git 2.8 or later on `PATH`, and see that `git config --list --show-origin` works",
            ),
            PathError::TooMuch(_) => (
                Code::PATH_PROTECTED,
                "open a smaller folder as the project, or move what it does not need out of it",
            ),
            PathError::Forbidden { .. } => (
                Code::POLICY_DENIED,
                "`tools.security` in the settings lists the allowed and denied paths",
            ),
            PathError::Missing(_) => (
                Code::PATH_MISSING,
                "paths are relative to the project folder; list the folder to see what exists",
            ),
            PathError::WrongKind { .. } => {
                (Code::PATH_WRONG_KIND, "list the folder to see the kind of each path")
            }
            PathError::Unstored { is_full: true, .. } => (
                Code::JOURNAL_FULL,
                "free space on the disk of the state folder; `kb run resume` continues the run",
            ),
            PathError::Unstored { is_full: false, .. } => (
                Code::STATE_UNSTORED,
                "check the disk and the permissions of the state folder; `kb run resume` continues the run",
            ),
            PathError::Io { .. } => {
                return Failure::new(Code::FILE_FAILED, self.to_string());
            }
        };
        Failure::new(code, self.to_string()).help(help)
    }
}

/// Converts an error of the operating system for a path.
pub(super) fn refused(path: &str, error: Errno) -> PathError {
    match error {
        Errno::XDEV | Errno::LOOP => PathError::Outside(path.to_owned()),
        Errno::NOENT => PathError::Missing(path.to_owned()),
        Errno::NOTDIR => {
            PathError::WrongKind { path: parent_text(path), is: "a file", wanted: "a directory" }
        }
        other => PathError::io(path, std::io::Error::from(other)),
    }
}

/// The path names another kind of file than the one required.
pub(crate) fn wrong_kind(path: &str, is: FileKind, wanted: &'static str) -> PathError {
    let is = match is {
        FileKind::File => "a file",
        FileKind::Directory => "a directory",
        FileKind::Symlink => "a symbolic link",
        FileKind::Other => "a pipe, socket or device",
    };
    PathError::WrongKind { path: path.to_owned(), is, wanted }
}

fn parent_text(path: &str) -> String {
    let parent = Path::new(path).parent().filter(|parent| parent.components().next().is_some());
    let is_named = |parent: &Path| parent.components().any(|part| part != Component::CurDir);
    parent.filter(|p| is_named(p)).map_or_else(|| path.to_owned(), |p| p.display().to_string())
}
