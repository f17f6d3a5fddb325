//! The files of a project: finds and reads definition files, and gives the path of the state folder.
//!
//! The content of the files is interpreted by `definition`. A file that cannot be read becomes a
//! [`FileProblem`] and does not hide the others. [`write_new_files`] creates the files of `kb init`
//! and never overwrites one. Start at [`ProjectFolder`].

mod discovery;
mod folder;
mod new_files;
mod reading;
mod role;
mod stamp;
mod test_files;
mod trust;

pub use discovery::FileProblem;
pub use folder::ProjectFolder;
pub use new_files::{NewFiles, write_new_files};
pub use role::role_of;
pub(crate) use role::sniffed_role;
pub use test_files::test_files;
pub use trust::NoFolder;
