//! JSON-RPC with a program of others: messages of one line each, over a session with its process.
//!
//! Everything that the program writes is checked and limited here; callers mask its text. What a request of the program is
//! answered with is the business of an [`Answerer`]. Start at [`Channel::of`].

mod channel;
mod conversation;
mod fault;
mod wire;

pub use channel::{Cancelling, Channel, Replies};
pub use conversation::Answerer;
pub use fault::Fault;
pub use wire::{Answer, Incoming, NO_METHOD, RemoteError, notification, refusal, result};
