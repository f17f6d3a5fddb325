use crate::diagnostic::Code;
use crate::evidence::FileKind;
use crate::value::Failure;
use rustix::io::Errno;
use std::path::{Component, Path};

/// Why the guard does not hand out a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing was given.
    #[error("the path is empty")]
    Empty,
    /// It holds a NUL character.
    #[error("the path holds a NUL character")]
    Nul,
    /// It leads out of the workspace, by itself or through a link.
    #[error("`{0}` leads out of the workspace")]
    Outside(String),
    /// Tools may not write there.
    #[error("`{path}` is in `{place}`, which tools may not change")]
    Protected {
        /// What was asked for.
        path: String,
        /// The protected place.
        place: String,
    },
    /// A setting forbids it.
    #[error("the settings do not let `{tool}` touch `{path}`")]
    Forbidden {
        /// What was asked for.
        path: String,
        /// Which tool asked.
        tool: String,
    },
    /// There is nothing.
    #[error("`{0}` does not exist")]
    Missing(String),
    /// It is something else than was asked for.
    #[error("`{path}` is {is}, not {wanted}")]
    WrongKind {
        /// What was asked for.
        path: String,
        /// What it is, with its article.
        is: &'static str,
        /// What it was to be, with its article.
        wanted: &'static str,
    },
    /// A glob that cannot be read.
    #[error("`{glob}` is not a glob: {why}")]
    BadGlob {
        /// As written.
        glob: String,
        /// What is wrong with it.
        why: String,
    },
    /// The system refuses.
    #[error("`{path}`: {error}")]
    Io {
        /// What was asked for.
        path: String,
        /// In the system's words.
        error: String,
    },
}

impl PathError {
    /// The system's refusal.
    pub(crate) fn io(path: &str, error: impl std::fmt::Display) -> Self {
        PathError::Io { path: path.to_owned(), error: error.to_string() }
    }

    /// Whether a rule forbids it, rather than that it does not work.
    pub fn is_denial(&self) -> bool {
        matches!(
            self,
            PathError::Nul
                | PathError::Outside(_)
                | PathError::Protected { .. }
                | PathError::Forbidden { .. }
        )
    }

    /// The failure that steps and models see.
    pub fn failure(&self) -> Failure {
        let (code, help) = match self {
            PathError::Empty | PathError::Nul | PathError::BadGlob { .. } => {
                (Code::BAD_PATH, "give a path relative to the workspace, such as `src/main.rs`")
            }
            PathError::Outside(_) => (
                Code::PATH_OUTSIDE,
                "use a path inside the workspace, relative to its root, that no link leads out of",
            ),
            PathError::Protected { .. } => (
                Code::PATH_PROTECTED,
                "definitions, settings and the repository's own data are changed by people only; write somewhere else",
            ),
            PathError::Forbidden { .. } => (
                Code::POLICY_DENIED,
                "`tools.security` in the settings lists the allowed and denied paths",
            ),
            PathError::Missing(_) => (Code::PATH_MISSING, "`fs:list` shows what is there"),
            PathError::WrongKind { .. } => (Code::PATH_WRONG_KIND, "`fs:list` shows what is what"),
            PathError::Io { .. } => {
                return Failure::new(Code::FILE_FAILED.as_str(), self.to_string());
            }
        };
        Failure::new(code.as_str(), self.to_string()).help(help)
    }
}

/// What the system's refusal means for a path.
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

/// It is something else than was asked for.
pub(crate) fn wrong_kind(path: &str, is: FileKind, wanted: &'static str) -> PathError {
    let is = match is {
        FileKind::File => "a file",
        FileKind::Directory => "a directory",
        FileKind::Symlink => "a link",
        FileKind::Other => "a pipe, socket or device",
    };
    PathError::WrongKind { path: path.to_owned(), is, wanted }
}

fn parent_text(path: &str) -> String {
    let parent = Path::new(path).parent().filter(|parent| parent.components().next().is_some());
    let named = |parent: &Path| parent.components().any(|part| part != Component::CurDir);
    parent.filter(|p| named(p)).map_or_else(|| path.to_owned(), |p| p.display().to_string())
}
