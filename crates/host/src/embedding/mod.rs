//! Vectors of texts from a server of the settings (`knowledge.embeddings`).
//!
//! [`EndpointEmbedder`] speaks the protocol of OpenAI, `POST /embeddings`, which Ollama, llama.cpp and most providers
//! have. Its answer is data of others: `response::vectors` checks it. The requests go to the host of the
//! settings, which may be private, follow no redirect, and use no proxy.

mod endpoint;
mod response;

pub use endpoint::EndpointEmbedder;

use std::time::Duration;

/// Says when so much time is over.
pub(crate) fn until(time: Duration) -> impl FnMut() -> bool {
    let began = kb_clock::instant();
    move || began.elapsed() > time
}
