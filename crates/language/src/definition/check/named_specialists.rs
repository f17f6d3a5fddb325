//! Static rule: the settings name specialists as they are spelled.

use crate::definition::model::Catalog;
use crate::definition::settings::ORCHESTRATOR;
use kb_base::diagnostic::{Code, Diagnostic, Span, nearest};

/// Reports names of `budgetAllocation` and `defaultLadder` that are no specialist: an error if one is alike, and a note
/// otherwise, because settings for several projects may name specialists that this one lacks.
pub(crate) fn check(named: &[(String, Span)], catalog: &Catalog) -> Vec<Diagnostic> {
    let ids = || catalog.specialists.keys().map(|id| id.as_str());
    let unknown = named.iter().filter(|(name, _)| {
        !ids().any(|id| id == name) && !catalog.refused.specialists.contains_key(name)
    });
    let has_specialists = !catalog.specialists.is_empty();
    let problem = |(name, span): &(String, Span)| {
        let message = format!("there is no specialist `{name}`, so nothing applies to it");
        match nearest(name, ids().chain([ORCHESTRATOR])) {
            Some(id) => {
                let error = Diagnostic::error(Code::NO_SUCH_SPECIALIST, *span, message);
                Some(error.help(format!("did you mean `{id}`?")))
            }
            None => has_specialists.then(|| {
                Diagnostic::info(Code::NO_SUCH_SPECIALIST, *span, message)
                    .help("write the id of a specialist, or remove it")
            }),
        }
    };
    unknown.filter_map(problem).collect()
}
