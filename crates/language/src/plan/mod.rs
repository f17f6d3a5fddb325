//! The plan: an immutable DAG of steps, built once from a checked definition.
//!
//! Pure and independent of execution: it answers which steps depend on which, how strongly, in which
//! order, and draws itself as text, DOT, Mermaid and JSON ([`graph`]). Start reading at
//! [`Plan::build`], which also applies the rules over the whole graph (`check/`): circular dependencies,
//! reads of outputs that may not exist, unknown output keys, unordered writers. What depends
//! on the kind of a step are the methods of [`StepKind`](crate::definition::StepKind).

mod build;
mod check;
mod children;
mod confined;
mod confinement_ahead;
mod dag;
mod edges;
mod gated;
pub mod graph;
mod index;
mod order;
mod output;
mod paths;
mod plugins;
mod reads;
mod servers;
mod step;
mod writers;

pub use children::MAX_CHILD_DEPTH;
pub use confined::{Confined, Facts, ForeignValue, Touched};
pub use confinement_ahead::{ConfinedAhead, ConfinedStep, ConfinedSteps};
pub use dag::{Plan, PlanStep};
pub use output::known_output;
pub use reads::steps_before;
pub use step::{Dependency, Dependent, StepIx};
