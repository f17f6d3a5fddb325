//! `cache:`: a step that takes its result from an earlier execution with the same key.

use crate::definition::check::pattern;
use crate::definition::keys::KeyType::{self, ListOrOne, ScalarTemplate};
use crate::definition::keys::{choices, keys};
use crate::definition::syntax::{Decoder, Node, Secrets};
use crate::expression::{Reference, Template};
use std::time::Duration;

keys! {
    /// When a step takes its result from an earlier execution.
    pub struct Cache(Debug, Clone, Default): CACHE = ("cache", "`cache`") {
        /// A text that is a part of the key; without `inputs`, it stands for the files that the step reads.
        key: Option<Template> = "key" as ScalarTemplate => key_text, example("\"{{version}}\"");
        /// Globs of the files that the step reads; `!` excludes files.
        inputs: Option<Vec<Template>> = "inputs" as GLOBS => inputs,
            default("all files that are not ignored; none for `http` steps, and none with `key`"),
            example("[\"src/**\", Cargo.toml]");
        /// Globs of ignored files that belong to the result; other changed files always do.
        outputs: Vec<Template> = "outputs" as GLOBS => outputs, example("[\"dist/**\"]");
        /// Age from which a stored result is not used.
        ttl: Option<Duration> = "ttl", example("24h");
        /// Which steps share results: all of the `project` that do the same, the same `step` of the playbook, or those of one `run`.
        scope: CacheScope = "scope", default("project");
    }
}

const GLOBS: KeyType = ListOrOne(&KeyType::Template);

fn key_text(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Template> {
    decoder.scalar_template(node, key, Secrets::Refused)
}

fn inputs(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Vec<Template>> {
    Some(outputs(node, key, decoder))
}

fn outputs(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<Template> {
    pattern::project_globs(node, key, decoder).unwrap_or_default()
}

impl Cache {
    /// The references in its texts.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.key
            .iter()
            .chain(self.inputs.iter().flatten())
            .chain(&self.outputs)
            .flat_map(Template::references)
    }
}

choices! {
    /// `scope` of `cache`: which steps share results.
    #[derive(Default)]
    pub enum CacheScope {
        /// All steps of the project that do the same.
        #[default]
        Project = "project",
        /// The same step of the same playbook.
        Step = "step",
        /// The steps of one run and of its child runs.
        Run = "run",
    }
}
