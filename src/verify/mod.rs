//! Gates: what a step claims, what the runtime recorded, and what is there now, brought together
//! into one verdict (LANGUAGE §6).
//!
//! Pure. A [`Gate`] says by [`asks`] what has to be looked at; `executor` looks; [`judge`] gives the
//! verdict over what was seen. Nothing here reads a file, starts a process or evaluates an
//! expression, so that a verdict can be recomputed from the journal. Presence is not proof, a word of
//! a model is none either, and what cannot be told is `inconclusive`.

mod observation;
mod basis;
mod check;
mod claim;
mod file_check;
mod gate;
mod evaluate;
mod normalize;
mod reconcile;
mod recorded;

pub use observation::{ObservationQuery, CommandEnd, Observations, CommandRun, Observation, MatchedFile, ObservationError};
pub use basis::{Basis, IncompleteBasis};
pub use gate::{Criterion, FileCriterion, Gate};
pub use evaluate::{evaluate, queries};
