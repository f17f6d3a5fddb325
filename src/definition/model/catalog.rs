use super::{Playbook, Settings, Specialist, StepKind};
use crate::diagnostic::Sources;
use crate::value::{DefinitionId, SpecialistId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Every clean definition of a project, with the texts they came from.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// The texts, for diagnostics and for freezing a run's definitions.
    pub sources: Sources,
    /// Playbooks and workflows by id.
    pub playbooks: BTreeMap<DefinitionId, Arc<Playbook>>,
    /// Specialists and agent profiles by id.
    pub specialists: BTreeMap<SpecialistId, Arc<Specialist>>,
    /// What is defined but cannot be used.
    pub refused: Refused,
    /// The project's settings; defaults where there is no file.
    pub settings: Arc<Settings>,
}

/// Definitions that cannot be used, by the id that they give themselves, with their files: each has
/// errors, or several share the id.
#[derive(Debug, Clone, Default)]
pub struct Refused {
    /// Playbooks and workflows.
    pub playbooks: BTreeMap<String, BTreeSet<String>>,
    /// Specialists and agent profiles.
    pub specialists: BTreeMap<String, BTreeSet<String>>,
}

impl Catalog {
    /// The files that a playbook reaches: its own, and those of its specialists, usable or not.
    pub fn files_of(&self, playbook: &Playbook) -> BTreeSet<String> {
        let mut paths = BTreeSet::from([playbook.path.clone()]);
        for step in playbook.steps.iter().chain(&playbook.finally) {
            let StepKind::Specialist { specialist, .. } = &step.kind else { continue };
            match self.specialists.get(specialist) {
                Some(found) => {
                    paths.insert(found.path.clone());
                }
                None => {
                    let refused = self.refused.specialists.get(specialist.as_str());
                    paths.extend(refused.into_iter().flatten().cloned());
                }
            }
        }
        paths
    }
}
