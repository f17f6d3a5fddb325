//! The agent loop: a model, an allow-list of tools, and an output that matches its schema.
//!
//! Start reading at [`SpecialistRunner::run`]. [`turn`] makes every decision from the counters of the
//! conversation, and a [`Conversation`] is a fold over the recorded events of the attempt, so a
//! resumed attempt continues exactly where the previous one was interrupted. Tool results and file
//! contents are data: the model sees them, but they never change what the loop may do. Nothing is
//! retried here except one call of the fallback model; retries belong to the engine.

mod account;
mod agent_heard;
mod agent_homes;
mod agent_prompt;
mod agent_recording;
mod agent_tools;
mod agent_turn;
mod approval;
mod brief;
mod compression;
mod context;
mod conversation;
mod cut_off;
mod excerpt;
mod excess;
mod feedback;
mod fencing;
mod handover;
mod history;
mod input_budget;
mod judge;
mod ledger;
mod messages;
mod model_call;
mod open_agent;
mod origin;
mod pace;
mod pending_call;
mod phase_transition;
mod phases;
mod played_agent;
mod prompt;
mod prompt_record;
mod recall;
mod related;
mod repetition;
mod report;
mod retention;
mod runner;
mod schema_text;
mod spending;
mod submit;
mod text_form;
mod tool_call;
mod toolset;
mod transcript;
mod transition;
pub mod turn;

pub use account::{Amount, Exhausted, Left, Need};
pub use agent_homes::AgentHomes;
pub use brief::Brief;
pub use context::ContextLimits;
pub use conversation::Conversation;
pub(crate) use judge::assessment;
pub use judge::{JudgeCall, Judged};
pub use ledger::{ChildBudget, Ledger, ORCHESTRATOR, Payer, Reservation};
pub use runner::SpecialistRunner;
pub use submit::{SUBMIT, Submission};
pub use toolset::ToolSet;
