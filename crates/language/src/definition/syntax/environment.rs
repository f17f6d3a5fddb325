//! Decodes `env:` maps.

use super::templates::Secrets;
use super::{Decoder, Node};
use crate::expression::Template;
use kb_base::diagnostic::{Code, Diagnostic};

impl Decoder {
    /// Decodes `env:`.
    pub(crate) fn environment(&mut self, node: &Node, key: &str) -> Vec<(String, Template)> {
        for (name, _) in node.as_map().unwrap_or_default() {
            if !is_variable(&name.text) {
                let message = format!("`{}` cannot be the name of a variable", name.text);
                self.push(
                    Diagnostic::error(Code::BAD_ID, name.span, message)
                        .help("use letters, digits and `_`; the first character cannot be a digit"),
                );
            }
        }
        let environment = self.template_map(node, key, Secrets::Allowed);
        for (name, value) in &environment {
            let references = value.references();
            self.env_sources.extend(references.map(|found| (name.clone(), found.root.clone())));
        }
        environment
    }
}

/// Whether a text can be the name of an environment variable.
pub(crate) fn is_variable(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
