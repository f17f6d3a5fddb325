//! The seam between deciding and doing: one request in, one [`Outcome`] out.
//!
//! An executor never touches the journal. What must be stored on the way goes through
//! [`Recorder::record`], which returns once it is; live tokens go through [`Recorder::progress`]
//! and are never stored. The types of the seam live in [`crate::attempt`].

pub use crate::attempt::{
    Context, Outcome, Progress, Recorder, Request, RunWork, SpecialistWork, Stopped, Work,
    invocations,
};
use futures::future::BoxFuture;

/// Does one attempt.
pub trait Executor: Send + Sync {
    /// Never panics and always ends: by its work, its timeout or `context.cancel`.
    fn execute(&self, request: Request, context: Context) -> BoxFuture<'static, Outcome>;
}
