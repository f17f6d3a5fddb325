//! The state machine of a run: pure decisions about what happens next.
//!
//! [`decide`] takes the plan, the state and one [`Envelope`]. It returns the events that follow and
//! the effects to perform once they are stored. [`State::apply`] folds an event and never decides or
//! evaluates. No async, clock, file, network or hash-map iteration here: the same code runs under
//! tokio and SQLite, in the simulator, and in replays. Start at [`decide`] and [`Event`].
//!
//! No match here has a wildcard arm, so that the compiler lists every decision that a new event, record,
//! status, action or phase needs.

#![deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants)]

mod apply;
mod apply_attempt;
mod apply_kept;
mod apply_queue;
mod bus;
mod child_link;
mod compact;
mod decide;
mod effect;
mod event;
mod extras;
mod hint;
mod input;
mod instance;
mod items;
mod join;
mod keep;
mod kept;
mod optional_time;
mod plan_revision;
mod question;
mod recovery;
mod session;
mod session_facts;
mod state;

pub use child_link::{ChildLink, ChildLinkState};
pub use compact::CompactPayload;
pub use decide::{Decision, decide};
pub use extras::{PreviousPass, Variation};
pub use hint::hints;
pub use instance::Instance;
pub use items::{Item, Items};
pub use join::{DependencyEnds, Join, affects_join, join};
pub use keep::{Choice, Comparison, RerunReason, Version, choose, continues_child};
pub use kept::{KeptItems, KeptResult, Preset};
pub use plan_revision::{PlanRevision, StepAction, StepFailure};
pub use recovery::{RecoveryRow, backoff, table};
pub use session::Session;
pub use state::{Rejection, Rules, State};

pub use effect::Effect;
pub use event::{Event, InstanceIx, StepStatus};
pub use input::{AttemptReport, Envelope, Evaluation, Input, Reply, Wait};
pub use kb_base::value::RunStatus;
pub use question::{Question, QuestionKind};
