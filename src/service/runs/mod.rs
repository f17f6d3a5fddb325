//! Runs as use cases: begin one, go on, go back, stop it.
//!
//! Two steps, so that whoever watches can get ready in between: [`begin`], [`resume`], [`retry`] and
//! [`cancel`] check everything and take hold of the run; [`Prepared::drive`] does the work.

mod assembly;
mod context;
mod frozen;
mod opening;
mod prepared;
mod secrets;
mod task_files;

pub use context::ProjectContext;
pub use frozen::{Frozen, FrozenFile};
pub use opening::{Answered, Begin, Cancelled, Overrides, answer, begin, cancel, resume, retry};
pub use prepared::Prepared;
pub use secrets::ConfiguredSecrets;
pub(super) use task_files::read_task_files;
