//! The agent loop: a model, a whitelist of tools, and an output that fits its schema.
//!
//! Enter at [`SpecialistRunner::run`]. Every decision is made by [`turn`] from what the recorded
//! conversation adds up to, and a conversation is nothing but its records folded, so a resumed
//! attempt goes on exactly where the last one was cut. What a tool or a file says is data here: it
//! is shown to the model, and never changes what the loop may do. Nothing is retried here but one
//! try with the fallback model; recovery belongs to the engine.

mod compression;
mod conversation;
mod excerpt;
mod feedback;
mod fencing;
mod messages;
mod model_call;
mod prompt;
mod repetition;
mod report;
mod runner;
mod schema_text;
mod submit;
mod text_form;
mod tool_call;
mod toolset;
mod transcript;
pub mod turn;

pub use conversation::{Brief, Conversation};
pub use runner::SpecialistRunner;
pub use submit::{SUBMIT, Submission};
pub use toolset::ToolSet;
