//! The heart: what happens next, decided purely (DESIGN §3).
//!
//! [`decide`] takes the plan, the state and one [`Envelope`], and says which events follow and which
//! effects to perform once they are stored. [`State::apply`] folds an event and never decides or
//! evaluates. No async, clock, file, network or hash-map iteration here; the same room runs under
//! tokio and SQLite, under a simulator, and under a replaying engine.

mod apply;
mod compact;
mod decide;
mod effect;
mod event;
mod input;
mod instance;
mod join;
mod question;
mod recovery;
mod state;

pub use compact::CompactPayload;
pub use decide::{Decision, decide};
pub use instance::{Instance, Item, Items};
pub use join::{DependencyEnds, Join, affects_join, join};
pub use recovery::{RecoveryAction, RecoveryRow, backoff, table};
pub use state::{Rules, State};

pub use effect::Effect;
pub use event::{Event, InstanceIx, RunStatus, StepStatus};
pub use input::{AttemptReport, Envelope, Evaluation, Input, Reply, Wait};
pub use question::{Question, QuestionKind};
