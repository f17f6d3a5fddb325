//! `concurrency:` of a playbook.

use crate::definition::keys::{choices, keys};
use crate::definition::syntax::{Decoder, Node, Secrets};
use crate::expression::{Root, Template};
use kb_base::diagnostic::{Code, Diagnostic};

keys! {
    /// The concurrency group of a run.
    pub struct Concurrency(Debug, Clone): CONCURRENCY = ("concurrency", "`concurrency`") {
        /// Name of the group; it can read parameters.
        group: Option<Template> = "group" => group, default("the id of the playbook"), example("\"deploy-{{target}}\"");
        /// `queue` waits for the other run, `skip` does not start, `cancelRunning` cancels the other run.
        on_conflict: ConflictPolicy = "onConflict", default("queue");
    }
}

/// Decodes `concurrency: {group, onConflict}`, or the name of the group alone.
pub(in crate::definition) fn concurrency(
    node: &Node,
    key: &str,
    decoder: &mut Decoder,
) -> Option<Concurrency> {
    if node.as_text().is_some() {
        let group = group(node, key, decoder)?;
        return Some(Concurrency { group: Some(group), on_conflict: Default::default() });
    }
    Concurrency::from_node(node, decoder)
}

/// The name of a group exists before the run, so it can read parameters only.
fn group(node: &Node, _: &str, decoder: &mut Decoder) -> Option<Template> {
    let group = decoder.template(node, "group", Secrets::Refused)?;
    let other = |root: &Root| !matches!(root, Root::Param(_) | Root::Params);
    if let Some(found) = group.references().find(|reference| other(&reference.root)) {
        let message = "the name of a concurrency group can read parameters only";
        let problem = Diagnostic::error(Code::NAME_OUT_OF_SCOPE, found.span, message)
            .caption("does not exist before the run")
            .help("declare a parameter for it");
        decoder.push(problem);
        return None;
    }
    if group.as_literal().is_some_and(|name| name.trim().is_empty()) {
        let help = "write a name, or leave it out for the id of the playbook".to_owned();
        decoder.bad_value(node.span, "`group` is empty".to_owned(), help);
        return None;
    }
    Some(group)
}

choices! {
    /// `onConflict` of `concurrency`.
    #[derive(Default)]
    pub enum ConflictPolicy {
        /// The new run waits for its turn.
        #[default]
        Queue = "queue",
        /// The new run does not start.
        Skip = "skip",
        /// The other run is cancelled; then the new one starts.
        CancelRunning = "cancelRunning",
    }
}
