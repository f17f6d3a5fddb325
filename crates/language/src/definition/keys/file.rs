//! [`DefinitionFile`]: the kinds of definition files and their tables.

use super::reach::reach;
use super::table::KeyTable;
use crate::definition::script::SCRIPT;
use crate::definition::settings::SETTINGS;
use crate::definition::syntax::agent::AGENT_FILE;
use crate::definition::syntax::playbook::{PLAYBOOK, WORKFLOW};
use crate::definition::syntax::plugin::{PLUGIN, PLUGIN_MANIFEST};
use crate::definition::syntax::profile::PROFILE;
use crate::definition::syntax::specialist::SPECIALIST;
use crate::definition::test_file::TEST_FILE;
use std::collections::BTreeMap;

/// A kind of definition file that has its own table of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionFile {
    /// YAML, `kb.playbook/1`.
    Playbook,
    /// Front matter of a markdown workflow.
    Workflow,
    /// YAML, `kb.specialist/1`, or the `agent:` form.
    Specialist,
    /// Front matter of an agent profile.
    AgentProfile,
    /// YAML, `kb.plugin/1`.
    Plugin,
    /// YAML, `kb.script/1`.
    Script,
    /// YAML, `kb.test/1`.
    Test,
    /// `.kb/kb.config.yml` or `.kb/kb.config.json`.
    Settings,
}

impl DefinitionFile {
    /// All kinds of files.
    pub const ALL: [DefinitionFile; 8] = [
        DefinitionFile::Playbook,
        DefinitionFile::Workflow,
        DefinitionFile::Specialist,
        DefinitionFile::AgentProfile,
        DefinitionFile::Plugin,
        DefinitionFile::Script,
        DefinitionFile::Test,
        DefinitionFile::Settings,
    ];

    /// The tables of the top-level map, one per form in which the file can be written.
    pub fn tables(self) -> Vec<&'static KeyTable> {
        match self {
            DefinitionFile::Playbook => vec![&PLAYBOOK],
            DefinitionFile::Workflow => vec![&WORKFLOW],
            DefinitionFile::Specialist => vec![&SPECIALIST, &AGENT_FILE],
            DefinitionFile::AgentProfile => vec![&PROFILE],
            DefinitionFile::Plugin => vec![&PLUGIN, &PLUGIN_MANIFEST],
            DefinitionFile::Script => vec![&SCRIPT],
            DefinitionFile::Test => vec![&TEST_FILE],
            DefinitionFile::Settings => vec![&SETTINGS],
        }
    }

    /// Every table of this kind of file: those of the top-level map, and those of the maps inside.
    pub fn all_tables(self) -> Vec<&'static KeyTable> {
        let mut reached = BTreeMap::new();
        self.tables().into_iter().for_each(|table| reach(table, &mut reached));
        reached.into_values().collect()
    }
}
