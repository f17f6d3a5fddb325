//! The table of keys at a place of a file.

use super::cursor::Segment;
use kb_language::definition::{DefinitionFile, FileRole, KeySpec, KeyTable, KeyType};

/// What the values at a place can be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    /// The key of the value, with its table; `None` at the root.
    pub(super) key: Option<(&'static KeyTable, &'static KeySpec)>,
    /// Types of the value.
    pub(super) ty: KeyType,
}

impl Slot {
    /// The tables of the maps that can stand here.
    pub(super) fn tables(&self) -> Vec<&'static KeyTable> {
        maps(&self.ty)
    }
}

/// The kind of a file by its path.
pub(super) fn file_kind(path: &str, role: Option<FileRole>) -> Option<DefinitionFile> {
    if path.ends_with(".test.yml") || path.ends_with(".test.yaml") {
        return Some(DefinitionFile::Test);
    }
    Some(match role? {
        FileRole::Playbook => DefinitionFile::Playbook,
        FileRole::Workflow => DefinitionFile::Workflow,
        FileRole::Specialist => DefinitionFile::Specialist,
        FileRole::AgentProfile => DefinitionFile::AgentProfile,
        FileRole::Plugin => DefinitionFile::Plugin,
        FileRole::Script => DefinitionFile::Script,
        FileRole::McpLock => return None,
        FileRole::Settings => DefinitionFile::Settings,
    })
}

/// What the values at the end of a path can be.
pub(super) fn slot(file: DefinitionFile, path: &[Segment]) -> Option<Slot> {
    let root = *file.tables().first()?;
    let mut slot = Slot { key: None, ty: KeyType::Map(root) };
    for segment in path {
        slot = match segment {
            Segment::Key(name) => entry(&slot, name)?,
            Segment::Item => Slot { key: slot.key, ty: item(&slot.ty)? },
        };
    }
    Some(slot)
}

/// The value of a key of a map.
fn entry(slot: &Slot, name: &str) -> Option<Slot> {
    for table in maps(&slot.ty) {
        if let Some(key) = key_of(table, name) {
            return Some(Slot { key: Some((table, key)), ty: key.ty });
        }
        if let Some(ty) = table.others {
            return Some(Slot { key: None, ty });
        }
    }
    values(&slot.ty).map(|ty| Slot { key: slot.key, ty })
}

/// The key with this name in camelCase or snake_case.
pub(super) fn key_of(table: &'static KeyTable, name: &str) -> Option<&'static KeySpec> {
    table.key(name).or_else(|| table.keys().find(|key| key.snake_case().as_deref() == Some(name)))
}

fn item(ty: &KeyType) -> Option<KeyType> {
    match ty {
        KeyType::List(inner) | KeyType::ListOrOne(inner) => Some(**inner),
        KeyType::Steps => step(),
        KeyType::OneOf(types) => types.iter().find_map(item),
        _ => None,
    }
}

/// The type of a step.
fn step() -> Option<KeyType> {
    let playbook = *DefinitionFile::Playbook.tables().first()?;
    item(&playbook.key("steps")?.ty)
}

fn values(ty: &KeyType) -> Option<KeyType> {
    match ty {
        KeyType::MapOf(inner) => Some(**inner),
        KeyType::OneOf(types) => types.iter().find_map(values),
        KeyType::ListOrOne(inner) => values(inner),
        _ => None,
    }
}

fn maps(ty: &KeyType) -> Vec<&'static KeyTable> {
    match ty {
        KeyType::Map(table) => vec![table],
        KeyType::ListOrOne(inner) => maps(inner),
        KeyType::OneOf(types) => types.iter().flat_map(maps).collect(),
        _ => Vec::new(),
    }
}
