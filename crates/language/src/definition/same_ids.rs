//! Definitions that share an id.

use kb_base::diagnostic::{Code, Diagnostic, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Definitions by id, without those that share an id.
pub(super) fn unique<Id: Ord + Clone + std::fmt::Display, T>(
    found: impl Iterator<Item = (Id, String, Span, T)>,
    what: &str,
    refused: &mut BTreeMap<String, BTreeSet<String>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> BTreeMap<Id, Arc<T>> {
    let mut unique: BTreeMap<Id, Arc<T>> = BTreeMap::new();
    let mut first: BTreeMap<Id, (String, Span)> = BTreeMap::new();
    for (id, path, span, definition) in found {
        let Some((other, at)) = first.get(&id) else {
            first.insert(id.clone(), (path, span));
            unique.insert(id, Arc::new(definition));
            continue;
        };
        diagnostics.push(
            Diagnostic::error(
                Code::DUPLICATE_DEFINITION,
                span,
                format!("two files define the {what} `{id}`: `{other}` and `{path}`"),
            )
            .label(*at, "also defined here")
            .help("rename one of them or delete it; until then neither is used"),
        );
        refused.entry(id.to_string()).or_default().extend([other.clone(), path]);
        unique.remove(&id);
    }
    unique
}
