//! Runs as use cases: start, resume, retry, approve, cancel.
//!
//! Each use case has two steps, so that a display can attach in between. [`start`], [`resume`],
//! [`retry`], [`reply`] and [`cancel`] check everything and take the lease of the run; then
//! [`Prepared::drive`] executes it.

mod activity;
mod assembly;
mod base;
mod begin;
mod budget;
mod caching;
mod children;
mod concurrency;
mod context;
mod doubles;
mod expectation;
mod keeping;
mod killed_commands;
mod machine;
mod models;
mod needed_secrets;
mod predecessor;
mod prepared;
mod present;
mod recorder;
mod remembering;
mod reopen;
mod replying;
mod requirements;
mod secrets;
mod start;
mod task_files;
mod trees;
mod undone;

use kb_base::value::RunLimits;

pub use activity::{Activity, ActivityReceiver, ActivitySender};
pub(super) use assembly::{available_sandbox, pinned_tools, server_secrets, supervisor};
pub(super) use base::facts_of;
pub(super) use base::start_revised;
pub use base::{KeepReport, RetryRequest, retry_with_current, start_from};
pub(super) use begin::{Basis, begin};
pub(super) use caching::results;
pub use concurrency::WaitNotice;
pub use context::ProjectContext;
pub use doubles::Doubles;
pub use expectation::Expectation;
pub use killed_commands::{ProtectedChanges, require_none_of};
pub(in crate::service) use killed_commands::{TEST_NAME, require_none_open};
pub use predecessor::Predecessor;
pub use prepared::Prepared;
pub use recorder::{FilesBefore, Recorder};
pub(in crate::service) use remembering::memory_limits;
pub use reopen::{Cancelled, RetryFrom, cancel, resume, retry};
pub use replying::{Decision, Posted, Replied, ReplyRequest, post_reply, reply, require_shown};
pub use secrets::ConfiguredSecrets;
pub use start::start;
pub(super) use task_files::read_task_files;
pub use trees::sweep_trees;
pub(super) use trees::trees_of;

/// Values of the command line that take precedence over definition and settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The model for all specialists (`--model`).
    pub model: Option<String>,
    /// Maximum number of step instances that run at the same time (`--max-parallel`).
    pub max_parallel: Option<u32>,
    /// Whether all tools that require approval are approved for this run (`--yes`).
    pub yes: bool,
    /// Maximum cost, tokens and tool calls of the run (`--budget`, …); take precedence over definition and settings.
    pub limits: RunLimits,
}
