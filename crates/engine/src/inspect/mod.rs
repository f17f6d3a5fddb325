//! Recorded runs, read back: events, logs, outputs, file changes and the audit of a run.
//!
//! Everything here comes from the journal; the files in the workspace are not read. Events are
//! translated into the public form of [`kb_core::wire`], so that a replayed run looks like a live one.
//! Start at [`Reader`], which reads the events of one run; [`LiveReader`] does the same while the
//! run executes, [`audit`] checks the integrity of a run, [`run_diff`] lists its file changes, and
//! [`Frozen`] holds the definitions that a run was started with.

mod as_recorded;
mod audit;
mod base_run;
mod diff;
mod earlier;
mod earlier_changes;
mod error;
mod file_diff;
mod file_facts;
mod frozen;
mod live;
mod log_entry;
mod output;
mod parent_facts;
mod prompts;
mod reader;
mod replay;
mod session;
mod specialist_attempts;
mod step_log;
mod step_work;
mod streams;
mod tool_calls;
mod trace;
mod undone;
mod verified;
mod whole_verdicts;

pub use as_recorded::require_as_recorded;
pub use audit::{Audit, Fault, audit};
pub use base_run::BaseRun;
pub use diff::{RunDiff, StepDiff, run_diff};
pub use earlier::Earlier;
pub use error::InspectError;
pub use file_diff::{FileDiff, FileDiffKind, FileSnapshot, Patch};
pub use file_facts::FilesNow;
pub use frozen::{
    CacheUse, Frozen, FrozenFile, FrozenRole, ParentRun, load_model_script, run_params,
};
pub use live::{LiveReader, LiveUpdate};
pub use log_entry::LogEntry;
pub use output::run_output;
pub use parent_facts::parent_facts;
pub use reader::{Reader, RunFilter, find_run, list_rows, list_runs, require_step, run_view};
pub use session::{RecordedSession, SessionView};
pub use specialist_attempts::{SpecialistAttempt, specialist_attempts};
pub use step_log::{Attempts, CurrentAttempts, LogLine, StepLog};
pub use step_work::{AttemptWork, StepReply, WorkEntry, step_work};
pub use tool_calls::{AuditedCall, audited_calls};
pub use trace::{TracePart, trace};
pub use whole_verdicts::whole_verdicts;
