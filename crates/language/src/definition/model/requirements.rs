//! `requires:`: what must hold before a run starts.

use crate::definition::keys::KeyType::{Choice, ListOrOne, Text};
use crate::definition::keys::choice_tables::{GIT_STATE, GIT_STATE_NAMES};
use crate::definition::keys::{Named, keys};
use crate::definition::syntax::{Decoder, Node};
use kb_base::diagnostic::Span;

keys! {
    /// What must hold before a run starts. Everything is checked before the run is created.
    pub struct Requirements(Debug, Clone, Default): REQUIRES = ("requires", "`requires`") {
        /// Programs that are in `PATH`.
        tools: Vec<(String, Span)> = "tools" as ListOrOne(&Text) => names, example("[git, cargo]");
        /// Paths or globs of project files; each matches a file.
        files: Vec<(String, Span)> = "files" as ListOrOne(&Text) => names, example("[Cargo.toml]"), names(Named::File);
        /// Environment variables that are set and not empty.
        env: Vec<(String, Span)> = "env" as ListOrOne(&Text) => names, example("[DEPLOY_TARGET]");
        /// `clean`: the project is a git work tree without changes.
        clean: Option<Span> = "git" as Choice(GIT_STATE_NAMES) => git_state;
    }
}

impl Requirements {
    /// Whether nothing is required.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
            && self.files.is_empty()
            && self.env.is_empty()
            && self.clean.is_none()
    }
}

fn names(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<(String, Span)> {
    let mut found = Vec::new();
    for item in decoder.list(node, key) {
        let Some(text) = decoder.text(item, key) else { continue };
        if text.trim().is_empty() {
            let help = "remove it, or write a name".to_owned();
            decoder.bad_value(item.span, format!("`{key}` has an empty text"), help);
            continue;
        }
        found.push((text.to_owned(), item.span));
    }
    found
}

fn git_state(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Span> {
    decoder.one_of(node, key, GIT_STATE).map(|()| node.span)
}
