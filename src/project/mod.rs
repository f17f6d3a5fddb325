//! Finds and reads the files of a project, and says where its state lives.
//!
//! Reads only: what files mean is for `definition` to say. A file that cannot be read is a
//! diagnostic and never hides the others. The one thing written here is what `kb init` asks for,
//! and nothing is ever overwritten.

mod discovery;
mod placement;
mod role;
mod root;

pub use placement::{Placed, place_files};
pub use role::role_of;
pub use root::Project;
