//! The result of loading: every valid definition by id, and the ids of the invalid ones.

use super::{McpServer, Playbook, Plugin, Specialist, Step};
use crate::definition::mcp::{LOCK_PATH, McpLock, PinnedServer};
use crate::definition::settings::Settings;
use crate::toolspec::{ToolCatalog, ToolNamespace};
use kb_base::diagnostic::Sources;
use kb_base::value::{DefinitionId, SpecialistId};
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
    /// Plugins by id.
    pub plugins: BTreeMap<DefinitionId, Arc<Plugin>>,
    /// The servers of the settings and of the specialists by name, also of specialists with errors: a server that is not
    /// pinned is such an error.
    pub servers: BTreeMap<String, Arc<McpServer>>,
    /// What is pinned of servers.
    pub lock: Arc<McpLock>,
    /// The tools that the definitions can name.
    pub tools: ToolCatalog,
    /// What could be read of playbooks with errors, for further problems of them.
    pub drafts: Vec<Arc<Playbook>>,
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
    /// Tools of the project, from `.kb/plugins`.
    pub plugins: BTreeMap<String, BTreeSet<String>>,
}

impl Catalog {
    /// A playbook and the valid playbooks that it leads to as child runs, each once.
    pub fn with_children<'a>(&'a self, playbook: &'a Playbook) -> Vec<&'a Playbook> {
        let mut found: BTreeMap<&str, &Playbook> = BTreeMap::new();
        let mut open = vec![playbook];
        while let Some(playbook) = open.pop() {
            if found.insert(playbook.id.as_str(), playbook).is_none() {
                let calls = steps_of(playbook).filter_map(|step| step.kind.child());
                open.extend(calls.filter_map(|id| Some(&**self.playbooks.get(id)?)));
            }
        }
        found.into_values().collect()
    }

    /// The paths that the settings and the steps of all playbooks open for writing.
    pub fn opened(&self) -> Vec<String> {
        let steps = self.playbooks.values().flat_map(|playbook| steps_of(playbook));
        let own = steps.filter_map(|step| step.details().sandbox.as_ref());
        let settings = &self.settings.sandbox;
        let all = own.chain([&settings.steps]);
        let all = all.flat_map(|sandbox| sandbox.opening.write.iter().cloned());
        settings.write.iter().cloned().chain(all).collect()
    }

    /// The server with this name, if what is pinned of it is what its command declared.
    pub fn pinned_server(&self, name: &str) -> Option<PinnedServer> {
        let server = self.servers.get(name)?.clone();
        let pin =
            self.lock.servers.get(name).filter(|pin| pin.endpoint == server.endpoint)?.clone();
        Some(PinnedServer { server, pin })
    }

    /// The plugin with this id, or with this name of its tool (`plugin:ID`).
    pub fn plugin(&self, name: &str) -> Option<&Arc<Plugin>> {
        self.plugins.get(name).or_else(|| self.plugin_of(name))
    }

    /// The plugin that defines the tool with this name.
    pub fn plugin_of(&self, tool: &str) -> Option<&Arc<Plugin>> {
        self.plugins.values().find(|plugin| plugin.spec.name == tool)
    }

    /// Paths of the files that a playbook depends on: its own file and those of its specialists and
    /// of its child runs, valid or not.
    pub fn files_of(&self, playbook: &Playbook) -> BTreeSet<String> {
        let mut paths = BTreeSet::new();
        for playbook in self.with_children(playbook) {
            paths.insert(playbook.path.clone());
            self.add_files(playbook, &mut paths);
        }
        paths
    }

    /// Paths of the `taskFile`s of a playbook and of its child runs.
    pub fn task_files_of(&self, playbook: &Playbook) -> BTreeSet<String> {
        let steps = self.with_children(playbook).into_iter().flat_map(steps_of);
        steps.filter_map(|step| step.kind.task_file()).map(str::to_owned).collect()
    }

    fn add_files(&self, playbook: &Playbook, paths: &mut BTreeSet<String>) {
        for step in steps_of(playbook) {
            if let Some(id) = step.kind.child() {
                let refused = self.refused.playbooks.get(id.as_str());
                paths.extend(refused.into_iter().flatten().cloned());
            }
            if let Some(tool) = step.kind.tool() {
                paths.extend(self.plugin_of(&tool.name).map(|plugin| plugin.path.clone()));
                let server = ToolNamespace::server_of(&tool.name);
                paths.extend(server.map(|_| LOCK_PATH.to_owned()));
            }
            let Some(specialist) = step.kind.specialist() else { continue };
            match self.specialists.get(specialist) {
                Some(found) => {
                    paths.insert(found.path.clone());
                    let plugins = found.tools.iter().filter_map(|tool| self.plugin_of(&tool.name));
                    paths.extend(plugins.map(|plugin| plugin.path.clone()));
                    let mut tools = found.tools.iter();
                    let uses_server =
                        tools.any(|tool| ToolNamespace::server_of(&tool.name).is_some());
                    paths.extend(uses_server.then(|| LOCK_PATH.to_owned()));
                }
                None => {
                    let refused = self.refused.specialists.get(specialist.as_str());
                    paths.extend(refused.into_iter().flatten().cloned());
                }
            }
        }
    }
}

fn steps_of(playbook: &Playbook) -> impl Iterator<Item = &Arc<Step>> {
    playbook.steps.iter().chain(&playbook.finally)
}
