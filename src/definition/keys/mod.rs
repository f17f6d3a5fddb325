//! The tables of keys: every key of every definition file, with type, default and description.
//!
//! One [`KeyTable`] describes one map, such as a step or `retry`. The decoders accept exactly the keys
//! of these tables, [`file_schema`] derives the JSON Schemas of `kb schema` from them, and
//! [`key_reference`] the pages in `docs/reference/generated`. Start at [`KeyTable`] and
//! [`DefinitionFile`]; a new key is one line in the table of its map.

pub(crate) mod checks;
pub(crate) mod choices;
mod json_schema;
mod key_type;
pub(crate) mod playbook;
mod reference;
pub(crate) mod script;
pub(crate) mod settings;
pub(crate) mod specialist;
pub(crate) mod step;
pub(crate) mod step_parts;

pub use json_schema::file_schema;
pub use key_type::KeyType;
pub use reference::key_reference;

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
    /// YAML, `kb.script/1`.
    Script,
    /// `.kb/kb.config.yml` or `.kb/kb.config.json`.
    Settings,
}

impl DefinitionFile {
    /// All kinds of files.
    pub const ALL: [DefinitionFile; 6] = [
        DefinitionFile::Playbook,
        DefinitionFile::Workflow,
        DefinitionFile::Specialist,
        DefinitionFile::AgentProfile,
        DefinitionFile::Script,
        DefinitionFile::Settings,
    ];

    /// The tables of the top-level map, one per form in which the file can be written.
    pub fn tables(self) -> Vec<&'static KeyTable> {
        match self {
            DefinitionFile::Playbook => vec![&playbook::PLAYBOOK],
            DefinitionFile::Workflow => vec![&playbook::WORKFLOW],
            DefinitionFile::Specialist => vec![&specialist::SPECIALIST, &specialist::AGENT_FILE],
            DefinitionFile::AgentProfile => vec![&specialist::PROFILE],
            DefinitionFile::Script => vec![&script::SCRIPT],
            DefinitionFile::Settings => vec![&settings::SETTINGS],
        }
    }

    /// Every table of this kind of file: those of the top-level map, and those of the maps inside.
    pub fn all_tables(self) -> Vec<&'static KeyTable> {
        let mut reached = BTreeMap::new();
        self.tables().into_iter().for_each(|table| json_schema::reach(table, &mut reached));
        reached.into_values().collect()
    }
}

/// The keys of one map in a definition file.
#[derive(Debug)]
pub struct KeyTable {
    /// Unique name: the entry in `$defs` of a schema and the heading in the reference.
    pub name: &'static str,
    /// The map as messages name it, such as "a step" or "`retry`".
    pub what: &'static str,
    /// One sentence that describes the map.
    pub about: &'static str,
    /// The keys, in groups that several tables can share.
    pub groups: &'static [&'static [KeySpec]],
    /// The type of values under names that the user chooses; `None`: other keys are errors.
    pub others: Option<KeyType>,
    /// Which keys can occur together.
    pub rule: KeyRule,
}

/// Which keys of a map can occur together.
#[derive(Debug, Clone, Copy)]
pub enum KeyRule {
    /// Any keys.
    Any,
    /// Exactly one of these.
    ExactlyOne(&'static [&'static str]),
    /// Exactly one of these, which `defaults` can provide.
    OneOrInherited(&'static [&'static str]),
    /// At least one of these.
    AtLeastOne(&'static [&'static str]),
}

/// A table without user-chosen names and without a rule.
const fn table(
    name: &'static str,
    what: &'static str,
    about: &'static str,
    groups: &'static [&'static [KeySpec]],
) -> KeyTable {
    KeyTable { name, what, about, groups, others: None, rule: KeyRule::Any }
}

impl KeyTable {
    const fn others(self, others: KeyType) -> KeyTable {
        KeyTable { others: Some(others), ..self }
    }

    const fn rule(self, rule: KeyRule) -> KeyTable {
        KeyTable { rule, ..self }
    }

    /// All keys, in the order of the reference.
    pub fn keys(&self) -> impl Iterator<Item = &'static KeySpec> + use<> {
        self.groups.iter().flat_map(|group| group.iter())
    }

    /// The key with this canonical name.
    pub fn key(&self, name: &str) -> Option<&'static KeySpec> {
        self.keys().find(|key| key.name == name)
    }
}

/// How far this version supports a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The key works as described.
    Full,
    /// The key loads with a warning and has no effect; the definition runs.
    NoEffect,
    /// As [`Support::NoEffect`], for a key that other tools define.
    Planned,
    /// The check loads with a warning, and a gate with it is inconclusive.
    GateInconclusive,
    /// The key loads with a warning, and a run with it is refused, because the run would not keep to
    /// the limit that the key sets.
    RunRefused,
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct KeySpec {
    /// Canonical name in camelCase; the snake_case spelling is accepted too.
    pub name: &'static str,
    /// Type of the value.
    pub ty: KeyType,
    /// Whether the key must be present.
    pub required: bool,
    /// Default value as it would be written, or a short description; empty if there is none.
    pub default: &'static str,
    /// How far this version supports it.
    pub support: Support,
    /// Kinds of steps that have this key; empty: all.
    pub only: &'static [&'static str],
    /// One sentence that describes the key.
    pub about: &'static str,
    /// Example of a value; empty if the type says enough.
    pub example: &'static str,
}

/// A key with this name, type and description.
const fn key(name: &'static str, ty: KeyType, about: &'static str) -> KeySpec {
    KeySpec {
        name,
        ty,
        required: false,
        default: "",
        support: Support::Full,
        only: &[],
        about,
        example: "",
    }
}

impl KeySpec {
    const fn required(self) -> KeySpec {
        KeySpec { required: true, ..self }
    }

    const fn default(self, default: &'static str) -> KeySpec {
        KeySpec { default, ..self }
    }

    const fn example(self, example: &'static str) -> KeySpec {
        KeySpec { example, ..self }
    }

    const fn only(self, only: &'static [&'static str]) -> KeySpec {
        KeySpec { only, ..self }
    }

    const fn no_effect(self) -> KeySpec {
        KeySpec { support: Support::NoEffect, ..self }
    }

    const fn gate_inconclusive(self) -> KeySpec {
        KeySpec { support: Support::GateInconclusive, ..self }
    }

    const fn planned(self) -> KeySpec {
        KeySpec { support: Support::Planned, ..self }
    }

    const fn run_refused(self) -> KeySpec {
        KeySpec { support: Support::RunRefused, ..self }
    }

    /// The snake_case spelling, if it differs from the canonical name.
    pub fn snake_case(&self) -> Option<String> {
        let mut snake = String::new();
        for letter in self.name.chars() {
            if letter.is_ascii_uppercase() {
                snake.push('_');
            }
            snake.push(letter.to_ascii_lowercase());
        }
        (snake != self.name).then_some(snake)
    }
}
