//! Conversations with coding agents by the Agent Client Protocol, version 1.
//!
//! An agent is a program of others. Everything that it says is checked and limited here, and callers mask its text. What
//! it may do is decided by callers: this module passes on what it asks for. Start at `AgentSession::open`.

mod asked;
mod client;
mod fault;
mod offered_tools;
mod report;
mod session;
mod setup;
mod tool_client;
mod tool_server;
mod turn_end;
mod wire;

pub(crate) use asked::{Asked, FileRead, FileWrite, Permission, Wanted};
pub(crate) use client::Event;
pub(crate) use fault::AgentFault;
pub(crate) use offered_tools::{Answered, Called, OfferedTool};
pub(crate) use report::{CallReport, CallState, Update};
pub(crate) use session::AgentSession;
pub(crate) use tool_server::ToolOffer;
pub use tool_server::relay;
pub(crate) use turn_end::{TurnEnd, TurnStop};
pub(crate) use wire::Wire;
