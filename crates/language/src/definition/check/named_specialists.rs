//! Static rule: the settings name specialists as they are spelled.

use crate::definition::model::Catalog;
use kb_base::diagnostic::{Code, Diagnostic, Span, nearest};

/// Reports names of `budgetAllocation` and `defaultLadder` that are like the id of a specialist and not equal: the
/// share or the ladder would not apply. Settings for several projects may name specialists that this one lacks.
pub(crate) fn check(named: &[(String, Span)], catalog: &Catalog) -> Vec<Diagnostic> {
    let ids = || catalog.specialists.keys().map(|id| id.as_str());
    let unknown = named.iter().filter(|(name, _)| {
        !ids().any(|id| id == name) && !catalog.refused.specialists.contains_key(name)
    });
    let misspelt = unknown.filter_map(|(name, span)| Some((name, span, nearest(name, ids())?)));
    misspelt
        .map(|(name, span, id)| {
            let message = format!("there is no specialist `{name}`, so nothing applies to it");
            Diagnostic::error(Code::NO_SUCH_SPECIALIST, *span, message)
                .help(format!("did you mean `{id}`?"))
        })
        .collect()
}
