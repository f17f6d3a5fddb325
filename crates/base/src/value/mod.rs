//! Plain values that all modules share: ids, instance keys, durations, timestamps, digests, money,
//! canonical JSON and size limits.
//!
//! Pure: no clock, no environment, no files. Values are checked when they are constructed, so a
//! value of one of these types is always valid.

mod attempt_name;
mod digest;
mod duration;
mod glob;
mod ids;
mod instance;
mod invisible;
mod json;
pub mod limits;
mod money;
mod one_line;
mod outcome;
mod plural;
mod recovery_hint;
mod run_limits;
mod run_status;
mod step_status;
mod timestamp;
mod tokens;
mod usage;
mod verdict;

pub use attempt_name::{AttemptName, AttemptPlace, PlacedStep};
pub use digest::{Digest, Hasher};
pub use duration::{DurationError, format_duration, parse_duration};
pub use glob::Glob;
pub use ids::{DefinitionId, IdError, RunId, SpecialistId, StepId, ToolName};
pub use instance::{InstanceKey, Segment};
pub use invisible::{is_hidden, is_ignorable};
pub use json::{Json, JsonMap, json_strings, json_text, kind_of, read_back};
pub use money::Money;
pub use one_line::one_line;
pub use outcome::{Failure, OutcomeKind, OutcomeSelector};
pub use plural::counted;
pub use recovery_hint::{HintAction, RecoveryHint};
pub use run_limits::RunLimits;
pub use run_status::RunStatus;
pub use step_status::StepStatus;
pub use timestamp::Timestamp;
pub use tokens::{BYTES_PER_TOKEN, cut_to_chars, cut_to_tokens, estimated_tokens};
pub use usage::{Tier, Usage};
pub use verdict::Verdict;
