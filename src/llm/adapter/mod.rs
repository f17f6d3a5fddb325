//! Real providers through the `genai` library, none of whose types leaves this room.
//!
//! Always streams. Never retries, never logs a key, never follows a redirect with one, and takes
//! everything that comes back for hostile data.

mod calls;
mod error;
mod names;
mod provider;
mod request;
mod response_status;
mod stream;
mod web;

pub use provider::GenaiProvider;
pub(super) use web::{Connection, web_client};
