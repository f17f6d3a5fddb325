//! What is at a path, as far as a merge compares it.

use crate::workspace::Workspace;
use kb_base::value::{Digest, Failure};
use kb_core::evidence::{FileKind, FileState};
use serde::{Deserialize, Serialize};

/// Identifies the content of a path: its kind, digest and whether it can be executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Print {
    Missing,
    File { sha256: Option<Digest>, size: u64, executable: bool },
    Link { sha256: Option<Digest> },
    Folder,
    Other,
}

impl Print {
    pub(super) fn of(state: Option<&FileState>) -> Print {
        match state {
            None => Print::Missing,
            Some(state) => match state.kind {
                FileKind::File => Print::File {
                    sha256: state.sha256,
                    size: state.size,
                    executable: state.mode & 0o100 != 0,
                },
                FileKind::Symlink => Print::Link { sha256: state.sha256 },
                FileKind::Directory => Print::Folder,
                FileKind::Other => Print::Other,
            },
        }
    }

    /// The print of a path. Nothing is below a file or a link: what a link leads to has paths of its own.
    pub(super) fn at(workspace: &Workspace, path: &str) -> Result<Print, Box<Failure>> {
        for above in above(path) {
            if here(workspace, above)? != Print::Folder {
                return Ok(Print::Missing);
            }
        }
        here(workspace, path)
    }

    pub(super) fn is_of_kind(&self, other: &Print) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// The folders on the way to a path, outermost first.
pub(super) fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// The print of a path whose parent is a folder.
fn here(workspace: &Workspace, path: &str) -> Result<Print, Box<Failure>> {
    let state = workspace.symlink_stat(path).map_err(|error| Box::new(error.failure()))?;
    Ok(Print::of(state.as_ref()))
}
