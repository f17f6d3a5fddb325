//! Finds and reads the files of a project, and locates its state folder.
//!
//! Start at [`Project`]. This module only reads bytes; `definition` interprets them. A file that
//! cannot be read becomes a diagnostic and does not hide the others. The only files written here are
//! those of `kb init` and `kb playbook new`; existing files are never overwritten.

mod discovery;
mod placement;
mod role;
mod root;

pub use placement::{PlacedFiles, place_files};
pub use role::role_of;
pub use root::Project;
