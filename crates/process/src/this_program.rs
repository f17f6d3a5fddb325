//! The file of the program that runs.

use std::path::PathBuf;

/// The file of the running program without links, so that a process that sees only some files can be given this one. `None`
/// if it was removed.
pub fn this_program() -> Option<PathBuf> {
    std::env::current_exe().ok()?.canonicalize().ok()
}
