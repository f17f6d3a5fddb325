//! Runs as use cases: begin one, go on, go back, stop it.
//!
//! Two steps, so that whoever watches can get ready in between: [`begin`], [`resume`], [`retry`] and
//! [`cancel`] check everything and take hold of the run; [`Prepared::drive`] does the work.

mod assembly;
mod context;
mod frozen;
mod opening;
mod prepared;
mod replying;
mod secrets;
mod task_files;

pub use context::ProjectContext;
pub use frozen::{Frozen, FrozenFile};
pub use opening::{Begin, Cancelled, Overrides, begin, cancel, resume, retry};
pub use prepared::Prepared;
pub use replying::{Decision, Replied, ReplyRequest, reply};
pub use secrets::ConfiguredSecrets;
pub(super) use task_files::read_task_files;
