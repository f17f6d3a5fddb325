//! The triggers of a project as they are defined now.

use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure};
use kb_language::definition::{Playbook, Trigger};
use kb_service::service::{DefinitionDigests, Project, ResourceKind, ServiceError};
use kb_service::trigger::{playbook_of, trigger_id};
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
    let (mut found, digests) = (TriggerCatalog::new(), DefinitionDigests::new(project));
    for playbook in project.catalog.playbooks.values().filter(|playbook| !playbook.on.is_empty()) {
        let digest = digests.of(playbook);
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

/// The trigger with an id. The id of a playbook with one trigger is enough. Reads no other definition.
pub(super) fn find(project: &Project, name: &str) -> Result<LoadedTrigger, ServiceError> {
    let all = || {
        let playbooks = project.catalog.playbooks.values();
        playbooks.flat_map(|playbook| playbook.on.iter().map(move |trigger| (playbook, trigger)))
    };
    let id = |(playbook, trigger): &(&Arc<Playbook>, &Trigger)| {
        trigger_id(playbook.id.as_str(), &trigger.name)
    };
    let is_of = |prefix: &str, found: &(&Arc<Playbook>, &Trigger)| found.0.id == *prefix;
    let mut own = all().filter(|found| is_of(name, found));
    let only = own.next().filter(|_| own.next().is_none());
    if let Some((playbook, trigger)) = all().find(|found| id(found) == name).or(only) {
        let digest = DefinitionDigests::new(project).of(playbook);
        let id = trigger_id(playbook.id.as_str(), &trigger.name);
        let (playbook, trigger) = (playbook.clone(), trigger.clone());
        return Ok(LoadedTrigger { id, playbook, trigger, digest });
    }
    let playbook = playbook_of(name);
    if let Some(broken) = project.broken(playbook) {
        return Err(broken);
    }
    // The ids as `kb trigger list` prints them: those of the playbook, or all.
    let mut known: Vec<String> =
        all().filter(|found| is_of(playbook, found)).map(|found| id(&found)).collect();
    if known.len() > 1 && name == playbook {
        let message = format!("`{playbook}` has {} triggers", known.len());
        let help = format!("name one of them: {}", known.join(", "));
        return Err(ServiceError::refused(Failure::new(Code::TRIGGER_REFUSED, message).help(help)));
    }
    if known.is_empty() {
        known = all().map(|found| id(&found)).collect();
    }
    Err(ServiceError::unknown(ResourceKind::Trigger, name, known))
}
