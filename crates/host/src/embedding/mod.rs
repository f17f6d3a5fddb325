//! Vectors of texts from a server of the settings (`knowledge.embeddings`).
//!
//! [`EndpointEmbedder`] speaks the protocol of OpenAI, `POST /embeddings`, which Ollama, llama.cpp and most providers
//! have. Its answer is data of others: `response::vectors` checks it. The requests go to the host of the
//! settings, which may be private, follow no redirect, and use no proxy.

mod endpoint;
mod response;

pub use endpoint::EndpointEmbedder;

use kb_base::value::Failure;
use kb_knowledge::{Embedder, Meaning, question_vector};

/// The vector of a question, and what made it.
pub(crate) struct Asked<'e> {
    pub(crate) embedder: &'e dyn Embedder,
    pub(crate) vector: Vec<f32>,
}

impl<'e> Asked<'e> {
    /// The vector of a question, whose secrets are masked, or why there is none although there is a server. Blocks.
    pub(crate) fn of(
        embedder: Option<&'e dyn Embedder>,
        text: &str,
    ) -> (Option<Asked<'e>>, Option<Failure>) {
        let Some(embedder) = embedder else { return (None, None) };
        match question_vector(embedder, text) {
            Ok(vector) => (Some(Asked { embedder, vector }), None),
            Err(failure) => (None, Some(failure)),
        }
    }

    /// What a search takes.
    pub(crate) fn meaning(&self) -> Meaning<'_> {
        Meaning { key: self.embedder.key(), vector: &self.vector }
    }

    /// Says when the time is over in which missing vectors are made.
    pub(crate) fn budget(&self) -> impl FnMut() -> bool + use<> {
        let (began, budget) = (kb_clock::instant(), self.embedder.budget());
        move || began.elapsed() > budget
    }
}
