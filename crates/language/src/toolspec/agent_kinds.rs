//! [`NeededTools`]: the tools that do what a coding agent does by itself.

use super::table::{COMMAND_RUNNER, FILE_DELETER, FILE_READER, FILE_WRITER, HTTP_REQUEST};

/// The tools that a specialist must be allowed to call, so that a coding agent may do the same by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeededTools {
    /// It has no effect.
    Nothing,
    /// One of these does the same.
    AnyOf(&'static [&'static str]),
    /// These together do the same.
    All(&'static [&'static str]),
}

impl NeededTools {
    /// The tools for a call of this kind, as the Agent Client Protocol names it; `None` if no tool does the same.
    pub fn of_kind(kind: &str) -> Option<NeededTools> {
        Some(match kind {
            "read" => NeededTools::AnyOf(&[FILE_READER]),
            "search" => NeededTools::AnyOf(&["fs:search", "fs:list"]),
            "edit" => NeededTools::AnyOf(&[FILE_WRITER, "fs:edit"]),
            "delete" => NeededTools::All(&[FILE_DELETER]),
            "move" => NeededTools::All(&[FILE_WRITER, FILE_DELETER]),
            "execute" => NeededTools::All(&[COMMAND_RUNNER]),
            "fetch" => NeededTools::All(&[HTTP_REQUEST]),
            "think" => NeededTools::Nothing,
            _ => return None,
        })
    }
}
