use super::Catalog;
use crate::diagnostic::Diagnostic;

/// What a file is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRole {
    /// YAML, `kb.playbook/1`.
    Playbook,
    /// Markdown with front matter.
    Workflow,
    /// YAML, `kb.specialist/1`, or 003's `agent:` wrapper.
    Specialist,
    /// Markdown with front matter and a system prompt; its id is its path.
    AgentProfile,
    /// `.kb/kb.config.json` or `.yml`.
    Settings,
}

/// A file as it was read.
#[derive(Debug, Clone)]
pub struct InputFile {
    /// Relative to the project root where it lies inside; `/`-separated.
    pub path: String,
    /// Its bytes; what is no UTF-8 is a diagnostic.
    pub bytes: Vec<u8>,
    /// What it is taken for.
    pub role: FileRole,
}

/// Reads and checks everything at once: all clean definitions, and all problems of all files.
pub fn load(_files: Vec<InputFile>) -> (Catalog, Vec<Diagnostic>) {
    (Catalog::default(), Vec::new())
}
