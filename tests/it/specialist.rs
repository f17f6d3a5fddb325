//! The agent loop with scripted responses instead of a model and tools that only record.

mod bench;
mod context;
mod decision;
mod hostile;
mod input_budget;
mod limits;
mod model_errors;
mod output;
mod phases;
mod real;
mod repair;
mod resume;
mod tools;
mod usual;
