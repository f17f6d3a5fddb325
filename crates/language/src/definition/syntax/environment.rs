//! Decodes `env:` maps.

use super::templates::Secrets;
use super::{Decoder, Node};
use crate::expression::{Template, placeholders_in};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::is_dangerous_variable;

impl Decoder {
    /// Decodes `env:`. Variables through which a value could run code take literals only.
    pub(crate) fn environment(&mut self, node: &Node, key: &str) -> Vec<(String, Template)> {
        for (name, value) in node.as_map().unwrap_or_default() {
            if !is_variable(&name.text) {
                let message = format!("`{}` cannot be the name of a variable", name.text);
                self.push(
                    Diagnostic::error(Code::BAD_ID, name.span, message)
                        .help("use letters, digits and `_`; the first character cannot be a digit"),
                );
            } else if runs_code(&name.text) && self.holds_placeholder(value) {
                let message = format!(
                    "`{}` can make programs run code, so it cannot be set from a placeholder",
                    name.text
                );
                self.push(
                    Diagnostic::error(Code::VALUE_AS_CODE, value.span, message)
                        .help("write a literal, or use another variable"),
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

    fn holds_placeholder(&self, value: &Node) -> bool {
        let found = value.as_text().map(|text| placeholders_in(text, &self.names, self.style));
        found.is_some_and(|found| !found.is_empty())
    }
}

/// Whether a text can be the name of an environment variable.
pub(crate) fn is_variable(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Variables through which loaders, shells and runtimes load code, and `PATH`, which decides what
/// program a name starts.
fn runs_code(name: &str) -> bool {
    name == "PATH" || is_dangerous_variable(name)
}
