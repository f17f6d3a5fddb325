//! `knowledge`: which files the index has, and the vectors of their parts.

use super::llm::{api_key_env, endpoint};
use crate::definition::check::pattern;
use crate::definition::keys::KeyType::{self, Integer, ListOrOne, Map, Pattern, Text};
use crate::definition::keys::{choice, choices, settings};
use crate::definition::syntax::{Decoder, Node};
use std::time::Duration;

settings! {
    /// The index of the project files.
    pub struct KnowledgeSettings(Debug, Clone, PartialEq): KNOWLEDGE = ("knowledge", "`knowledge`") {
        /// Further files that belong to the collection `docs`, as globs.
        [own] docs: Vec<String> = "docs" as GLOBS => globs, example("[\"specs/**\"]");
        /// Files that are not indexed, as globs.
        [own] exclude: Vec<String> = "exclude" as GLOBS => globs, example("[\"vendor/**\"]");
        /// Maximum number of indexed files.
        [own] max_files: u32 = "maxFiles" as Integer(1, 1_000_000), default("50000");
        /// Size in KiB above which a file of a known language, or a document, is not indexed.
        [own] max_file_kib: u32 = "maxFileKiB" as Integer(1, 16_384), default("1024");
        /// The server that makes vectors of the parts, so that they are also found by their meaning.
        [own] embeddings: Option<EmbeddingSettings> = "embeddings" as Map(&EMBEDDINGS) => embeddings,
            default("none"), example("{endpoint: \"http://127.0.0.1:11434/v1\", model: all-minilm}");
    }

    /// A server that makes vectors of texts.
    pub struct EmbeddingSettings(Debug, Clone, PartialEq, Eq): EMBEDDINGS = ("embeddings", "`embeddings`") {
        /// `endpoint`, or `none`, which uses no vectors.
        [own] provider: EmbeddingProvider = "provider" as choice::<EmbeddingProvider>() => provider, default("endpoint");
        /// Base URL of an OpenAI-compatible server; `/embeddings` is added.
        [own] endpoint: String = "endpoint" as Pattern("^https?://") => endpoint, required,
            example("http://127.0.0.1:11434/v1");
        /// Name of the model, as the server spells it.
        [own] model: String = "model", required, example("all-minilm");
        /// Length of the vectors. It is sent with each request, and vectors of another length are refused.
        [own] dimensions: Option<u32> = "dimensions" as Integer(1, 16_384), default("that of the model"), example("384");
        /// Environment variable that contains the API key.
        [own] api_key_env: Option<String> = "apiKeyEnv" as Pattern("^[A-Za-z_][A-Za-z0-9_]*$") => api_key_env,
            example("OPENAI_API_KEY");
        /// Number of texts in one request.
        [own] batch: u32 = "batch" as Integer(1, 1_000), default("16");
        /// Characters of a part that are sent; the rest of it is found by its words only.
        [own] max_chars: u32 = "maxChars" as Integer(100, 100_000), default("1200");
        /// Time for one request, and for the requests of new parts before a question is answered.
        [own] timeout: Duration = "timeout", default("10s"), example("30s");
    }
}

const GLOBS: KeyType = ListOrOne(&Text);

choices! {
    /// Who makes the vectors.
    #[derive(Default)]
    pub enum EmbeddingProvider {
        /// Parts are found by their words alone.
        None = "none",
        /// An OpenAI-compatible server.
        #[default]
        Endpoint = "endpoint",
    }
}

impl KnowledgeSettings {
    /// The server that makes the vectors, unless the settings switch it off.
    pub fn embedder(&self) -> Option<&EmbeddingSettings> {
        self.embeddings.as_ref().filter(|own| own.provider == EmbeddingProvider::Endpoint)
    }
}

fn globs(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<String> {
    let globs = decoder.texts(node, key);
    globs.iter().for_each(|glob| pattern::project_glob(glob, node.span, decoder));
    globs
}

fn embeddings(node: &Node, _: &str, decoder: &mut Decoder) -> Option<EmbeddingSettings> {
    EmbeddingSettings::from_node(node, decoder)
}

fn provider(node: &Node, key: &str, decoder: &mut Decoder) -> EmbeddingProvider {
    if node.as_text() == Some("static") {
        let message = "`static` vectors are not supported: they find less than words do".to_owned();
        let help = "use `endpoint` with a small model, or remove `embeddings`".to_owned();
        decoder.bad_value(node.span, message, help);
        return EmbeddingProvider::None;
    }
    decoder.choice(node, key).unwrap_or_default()
}
