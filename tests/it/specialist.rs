//! The agent loop: written replies instead of a model, tools that only remember.

mod bench;
mod context;
mod decision;
mod hostile;
mod limits;
mod model_errors;
mod output;
mod real;
mod repair;
mod resume;
mod tools;
mod usual;
