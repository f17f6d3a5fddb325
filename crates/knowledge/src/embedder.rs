//! [`Embedder`]: what the index asks of a model that makes vectors of texts.

use kb_base::value::Failure;
use std::fmt::Debug;
use std::time::Duration;

/// A model that makes vectors of texts. Texts with similar meanings have vectors with similar directions.
pub trait Embedder: Debug + Send + Sync {
    /// Says which vectors can be compared: those of another key are removed and made again.
    fn key(&self) -> &str;
    /// Number of characters of a text that are sent.
    fn max_chars(&self) -> usize;
    /// Number of texts of one request.
    fn batch(&self) -> usize;
    /// How long vectors are made before a question is answered.
    fn budget(&self) -> Duration;
    /// A vector for each text, in their order: all of one length, with finite numbers. Blocks.
    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// Why texts have no vectors.
#[derive(Debug, Clone)]
pub enum EmbedError {
    /// The server answered with something else. Other texts may have vectors.
    Unusable(Box<Failure>),
    /// The server did not answer.
    Unavailable(Box<Failure>),
}

impl EmbedError {
    /// What is shown.
    pub fn failure(&self) -> &Failure {
        match self {
            EmbedError::Unusable(failure) | EmbedError::Unavailable(failure) => failure,
        }
    }
}
