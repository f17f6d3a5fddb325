use super::{Playbook, Settings, Specialist};
use crate::diagnostic::Sources;
use crate::value::{DefinitionId, SpecialistId};
use std::collections::BTreeMap;
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
    /// The project's settings; defaults where there is no file.
    pub settings: Arc<Settings>,
}
