//! The triggers of a project as they are defined now.

use crate::definition::{Playbook, Trigger};
use crate::service::{Project, ResourceKind, ServiceError};
use crate::trigger::{definition_digest, trigger_id};
use crate::value::Digest;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A trigger with its playbook.
#[derive(Debug, Clone)]
pub struct LoadedTrigger {
    /// `PLAYBOOK.NAME`.
    pub id: String,
    /// The playbook that it runs.
    pub playbook: Arc<Playbook>,
    /// The trigger as the playbook declares it.
    pub trigger: Trigger,
    /// The digest of what it runs.
    pub digest: Digest,
}

/// All triggers of the valid definitions of a project, by id.
pub type TriggerCatalog = BTreeMap<String, LoadedTrigger>;

/// The triggers of a project.
pub fn trigger_catalog(project: &Project) -> TriggerCatalog {
    let mut found = TriggerCatalog::new();
    for playbook in project.catalog.playbooks.values().filter(|playbook| !playbook.on.is_empty()) {
        let digest = definition_digest(playbook, &project.catalog, &project.files);
        for trigger in &playbook.on {
            let id = trigger_id(playbook.id.as_str(), &trigger.name);
            let loaded = LoadedTrigger {
                id: id.clone(),
                playbook: playbook.clone(),
                trigger: trigger.clone(),
                digest,
            };
            found.insert(id, loaded);
        }
    }
    found
}

/// The trigger with an id. The id of a playbook with one trigger is enough.
pub(super) fn find<'c>(
    catalog: &'c TriggerCatalog,
    project: &Project,
    name: &str,
) -> Result<&'c LoadedTrigger, ServiceError> {
    if let Some(found) = catalog.get(name) {
        return Ok(found);
    }
    let mut own = catalog.values().filter(|loaded| loaded.playbook.id == *name);
    if let (Some(only), None) = (own.next(), own.next()) {
        return Ok(only);
    }
    let playbook = name.split('.').next().unwrap_or(name);
    if let Some(broken) = project.broken(playbook) {
        return Err(broken);
    }
    let ids = || catalog.values().map(|loaded| (loaded.playbook.id.as_str(), loaded.id.as_str()));
    // The ids as `kb trigger list` prints them: those of the playbook, or all.
    let mut known: Vec<&str> = ids().filter(|(of, _)| *of == playbook).map(|(_, id)| id).collect();
    if known.is_empty() {
        known = ids().map(|(_, id)| id).collect();
    }
    Err(ServiceError::unknown(ResourceKind::Trigger, name, known))
}
