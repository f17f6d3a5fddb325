//! Static rule: the settings name specialists as they are spelled.

use crate::definition::model::Catalog;
use crate::definition::settings::ORCHESTRATOR;
use kb_base::diagnostic::{Code, Diagnostic, Span, nearest};

/// Reports names of `budgetAllocation` and `defaultLadder` that are no specialist. In a project without specialists the
/// settings may come first.
pub(crate) fn check(named: &[(String, Span)], catalog: &Catalog) -> Vec<Diagnostic> {
    let ids = || catalog.specialists.keys().map(|id| id.as_str());
    let has_specialists = !catalog.specialists.is_empty();
    let unknown = named.iter().filter(|(name, _)| {
        !ids().any(|id| id == name) && !catalog.refused.specialists.contains_key(name)
    });
    let problem = |(name, span): &(String, Span)| {
        let lower = name.to_lowercase();
        let alike = nearest(name, ids().chain([ORCHESTRATOR]));
        let same_but_case = || ids().find(|id| id.to_lowercase() == lower);
        let part = || ids().find(|id| lower.contains(&id.to_lowercase()));
        let similar = same_but_case().or(alike).or_else(part);
        let help = match similar {
            Some(id) => format!("did you mean `{id}`?"),
            None => "write the id of a specialist, or remove it".to_owned(),
        };
        let message = format!("there is no specialist `{name}`, so nothing applies to it");
        let error = Diagnostic::error(Code::NO_SUCH_SPECIALIST, *span, message).help(help);
        (similar.is_some() || has_specialists).then_some(error)
    };
    unknown.filter_map(problem).collect()
}
