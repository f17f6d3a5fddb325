//! Triggers that a person enabled and that are not defined now: their file has errors, or they were removed.

use super::catalog::TriggerCatalog;
use super::views::{self, TriggerStateName, TriggerView};
use kb_service::service::{Project, ServiceError};
use kb_service::trigger::{FireFilter, TriggerStore, playbook_of};

/// The enabled triggers that are not defined now, each with its newest fires.
pub(super) fn undefined(
    project: &Project,
    catalog: &TriggerCatalog,
    store: &TriggerStore,
    count: usize,
) -> Result<Vec<TriggerView>, ServiceError> {
    let mut all = Vec::new();
    for (id, state) in store.states()? {
        if state.enabled.is_none() || catalog.contains_key(&id) {
            continue;
        }
        let filter = FireFilter { trigger: Some(id.clone()), open: false, limit: count };
        all.push(views::undefined(&id, &state, why(project, &id), store.fires(&filter)?));
    }
    Ok(all)
}

/// The state of a trigger that is not defined now, and why.
pub(super) fn why(project: &Project, id: &str) -> (TriggerStateName, String) {
    let playbook = playbook_of(id);
    match project.broken(playbook) {
        Some(error) => (TriggerStateName::Broken, first(&error)),
        None => (TriggerStateName::Removed, format!("`{playbook}` does not declare it any more")),
    }
}

/// The first error in one line.
fn first(error: &ServiceError) -> String {
    let ServiceError::Definitions { diagnostics, .. } = error else { return error.to_string() };
    match diagnostics.iter().find(|problem| problem.is_error()) {
        Some(problem) => format!("{}: {}", problem.code, problem.message),
        None => error.to_string(),
    }
}
