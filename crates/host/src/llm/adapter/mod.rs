//! Real providers through the `genai` library; its types do not leave this module.
//!
//! Every call streams unless the settings say otherwise. Nothing here retries, logs an API key, or follows a redirect with one. Responses
//! are treated as untrusted data. Start at [`GenaiProvider`].

mod calls;
mod error;
mod names;
mod ollama;
mod provider;
mod reasoning;
mod request;
mod response_status;
mod stream;
mod web;

pub use provider::GenaiProvider;
pub(super) use web::{Connection, web_client};
