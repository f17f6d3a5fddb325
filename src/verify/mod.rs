//! Gates: what a step claims, what the runtime recorded, and what is there now, brought together
//! into one verdict (LANGUAGE §6).
//!
//! Pure. A [`Gate`] says by [`asks`] what has to be looked at; `executor` looks; [`judge`] gives the
//! verdict over what was seen. Nothing here reads a file, starts a process or evaluates an
//! expression, so that a verdict can be recomputed from the journal. Presence is not proof, a word of
//! a model is none either, and what cannot be told is `inconclusive`.

mod basis;
mod check;
mod claim;
mod evaluate;
mod file_check;
mod gate;
mod normalize;
mod observation;
mod reconcile;
mod recorded;

pub use basis::{Basis, IncompleteBasis};
pub use evaluate::{evaluate, queries};
pub use gate::{Criterion, FileCriterion, Gate};
pub use observation::{
    CommandEnd, CommandRun, MatchedFile, Observation, ObservationError, ObservationQuery,
    Observations,
};
