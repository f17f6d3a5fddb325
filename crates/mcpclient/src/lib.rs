//! The client of the Model Context Protocol: starts a server or speaks to one over HTTP, lists its
//! tools and calls them.
//!
//! A server is a program of others. Everything that it says is checked and limited here, and callers mask its
//! text. This module decides neither where a server runs nor what may be called. Start at
//! [`Connection::open`].

mod call_talk;
mod connection;
mod elicitation;
mod era;
mod fault;
mod handshake;
mod http_link;
mod listing;
mod output;
mod replies;
mod server;
mod sse;

pub use call_talk::{CallTalk, ElicitationReply};
pub use connection::{Connection, ServerReach, ServerStart};
pub use elicitation::Elicitation;
pub use fault::Fault;
