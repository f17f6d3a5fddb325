//! The documents of a Dagu file: the first is the workflow, the others are workflows that its steps call by
//! their names.

use kb_base::diagnostic::{Code, Diagnostic, Span, nearest};
use std::collections::BTreeMap;

/// The documents of a file, in order.
pub(super) struct Documents(pub(super) Vec<Document>);

/// What the steps of the other documents have to know of a document.
pub(super) struct Document {
    /// What steps call it.
    pub(super) name: String,
    /// The id of its playbook.
    pub(super) id: String,
    /// Names of the parameters that it declares, in order.
    pub(super) declared: Vec<String>,
    /// Names of the parameters that calls of the file pass, with the lines of the calls.
    pub(super) given: BTreeMap<String, u32>,
}

impl Documents {
    /// The document of a name.
    pub(super) fn named(&self, name: &str) -> Option<&Document> {
        self.0.iter().find(|document| document.name == name)
    }

    /// What is wrong with a call that names no document. A file with one document calls other files.
    pub(super) fn unknown(&self, target: &str, at: Span) -> Option<Diagnostic> {
        if self.0.len() == 1 {
            return None;
        }
        let short = |name: &&str| name.len() <= 100;
        let names = self.0.iter().map(|document| document.name.as_str()).filter(short);
        let known: Vec<String> = names.clone().map(|name| format!("`{name}`")).collect();
        let message =
            format!("`{target}` is neither a document of this file nor a playbook of the project");
        let near = Some(target).filter(short).and_then(|target| nearest(target, names));
        let help = match near {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!(
                "the documents are {}; import the file of `{target}` first if it is another file",
                known.join(", ")
            ),
        };
        Some(Diagnostic::error(Code::NO_SUCH_PLAYBOOK, at, message).help(help))
    }

    /// The document at an index.
    pub(super) fn at(&self, index: usize) -> &Document {
        &self.0[index]
    }
}
