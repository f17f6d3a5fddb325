//! What recorded attempts of specialists say: success, rework, cost and time per specialist, kind of task and tier, with
//! bounds, and what follows from them. Pure; the attempts come from journals that verify.
//!
//! Start at [`table`] and [`suggestions`].

mod bounds;
mod kind;
mod recurring;
mod suggest;
mod table;

pub use bounds::{Share, wilson};
pub use kind::TaskKind;
pub use recurring::{MIN_RUNS, NoteKind, Recurring, RunNote, recurring};
pub use suggest::{Advice, MIN_DECIDED, suggestions};
pub use table::{AttemptFact, Row, table};
