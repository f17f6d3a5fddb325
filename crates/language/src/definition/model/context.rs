//! How much of a conversation a model sees, and how long it may reason.

use crate::definition::keys::choices;

choices! {
    /// `context` of a specialist, `llm.context` of the settings: how long tool results may be, and when
    /// older messages are replaced by a summary.
    pub enum ContextProfile {
        /// For small context windows: results of 800 characters, compression from five messages on.
        Compact = "compact",
        /// Files of 16,000 characters, other results of 4,000, compression from 60 % of the window on.
        Standard = "standard",
        /// Files of 48,000 characters, other results of 12,000, compression from 60 % of the window on.
        Wide = "wide",
    }

    /// `reasoning` of `llm`: how long a model may reason before it responds.
    #[derive(PartialOrd, Ord)]
    pub enum Reasoning {
        /// Little reasoning.
        Low = "low",
        /// The usual amount.
        Medium = "medium",
        /// Much reasoning, for difficult tasks.
        High = "high",
    }
}

/// `context.rag`: parts of the project files that are added to the first prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrieval {
    /// `code` or `docs`, a glob of paths, or words that are looked up beside the task.
    pub scope: Option<String>,
    /// Maximum number of parts.
    pub max_chunks: u32,
}
