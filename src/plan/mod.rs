//! The plan: a sealed DAG of step templates, made once from a checked definition.
//!
//! Pure. It knows nothing of execution: it answers what depends on what, how strongly, in which
//! order, and how it looks as text, DOT, Mermaid and JSON ([`graph`]). Enter at [`Plan::build`], which
//! also finds what only the whole graph shows: circles, reads that may find nothing, keys that no
//! output has, writers that nothing orders.

mod build;
mod check;
mod dag;
mod edges;
pub mod graph;
mod index;
mod order;
mod paths;
mod reads;
mod step;

pub use dag::Plan;
pub use step::{Dependency, Dependent, PlanStep, StepIx};
