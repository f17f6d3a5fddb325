//! The rules for the index of the project files, from the settings.

use super::Environment;
use kb_core::redaction::Redactor;
use kb_host::embedding::EndpointEmbedder;
use kb_host::workspace::{IndexRules, PathGlobs};
use kb_knowledge::Embedder;
use kb_language::definition::{KnowledgeSettings, Settings};
use std::sync::Arc;

/// The rules of the settings for the index of the project files. The redactor learns the API key of the server that
/// makes vectors.
pub(in crate::service) fn index_rules(
    settings: &Settings,
    environment: &Environment,
    redactor: &Redactor,
) -> IndexRules {
    let KnowledgeSettings { docs, exclude, max_files, max_file_kib, .. } = &settings.knowledge;
    let embedder = settings.knowledge.embedder().map(|own| -> Arc<dyn Embedder> {
        let key = own.api_key_env.as_deref().and_then(|name| {
            let value = environment.variables.get(name)?.trim();
            redactor.add(name, value);
            (!value.is_empty()).then(|| value.to_owned())
        });
        Arc::new(EndpointEmbedder::new(own, key))
    });
    IndexRules {
        docs: PathGlobs::of(docs),
        exclude: PathGlobs::of(exclude),
        max_files: *max_files as usize,
        max_file: u64::from(*max_file_kib) << 10,
        embedder,
    }
}
