//! The result of loading: every valid definition by id, and the ids of the invalid ones.

use super::{Playbook, Settings, Specialist, StepKind};
use crate::diagnostic::Sources;
use crate::value::{DefinitionId, SpecialistId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Every valid definition of a project, with its source texts.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// The source texts, for diagnostics and for the definitions that a run freezes.
    pub sources: Sources,
    /// Playbooks and workflows by id.
    pub playbooks: BTreeMap<DefinitionId, Arc<Playbook>>,
    /// Specialists and agent profiles by id.
    pub specialists: BTreeMap<SpecialistId, Arc<Specialist>>,
    /// Definitions that exist but have errors.
    pub refused: RefusedDefinitions,
    /// The project's settings; defaults where there is no file.
    pub settings: Arc<Settings>,
}

/// Ids of definitions that cannot be used, each with its files: the file has errors, or several files
/// share the id.
#[derive(Debug, Clone, Default)]
pub struct RefusedDefinitions {
    /// Playbooks and workflows.
    pub playbooks: BTreeMap<String, BTreeSet<String>>,
    /// Specialists and agent profiles.
    pub specialists: BTreeMap<String, BTreeSet<String>>,
}

impl Catalog {
    /// Paths of the files that a playbook depends on: its own file and those of its specialists,
    /// valid or not.
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
