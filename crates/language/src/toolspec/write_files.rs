//! The tools that write files: `fs:write`, `fs:edit`, `fs:delete`.

use super::spec::{ToolLevel, ToolSpec, texts};
use serde_json::json;

pub(super) fn specs() -> Vec<ToolSpec> {
    vec![write(), edit(), delete()]
}

fn write() -> ToolSpec {
    ToolSpec {
        name: "fs:write".into(),
        aliases: texts(["file_write", "Write"]),
        groups: texts(["file_write"]),
        level: ToolLevel::Restricted,
        description: "Write a file. Creates the file and its parent directories, or replaces the \
                  whole content of an existing file. To change part of a file, use fs:edit."
            .into(),
        input: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path relative to the project root."},
                "content": {"type": "string", "description": "The complete new content of the file."},
            },
            "required": ["path", "content"],
            "additionalProperties": false,
        }),
        output: json!({
            "type": "object",
            "properties": {
                "created": {"type": "boolean", "description": "Whether the file did not exist before."},
                "bytes": {"type": "integer"},
            },
            "required": ["created", "bytes"],
        }),
        writes: true,
        done: "Wrote file".into(),
        subject: texts(["path"]),
        ..ToolSpec::base()
    }
}

fn edit() -> ToolSpec {
    ToolSpec {
        name: "fs:edit".into(),
        aliases: texts(["file_edit", "Edit", "MultiEdit"]),
        groups: texts(["file_write"]),
        level: ToolLevel::Restricted,
        description: "Replace text in a file. old must match the file exactly, including \
                  whitespace, and must occur exactly once unless all is true. Read the file \
                  first."
            .into(),
        input: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path relative to the project root."},
                "old": {"type": "string", "minLength": 1, "description": "The exact text to replace, including whitespace."},
                "new": {"type": "string", "description": "The replacement text."},
                "all": {"type": "boolean", "description": "Replace every occurrence."},
            },
            "required": ["path", "old", "new"],
            "additionalProperties": false,
        }),
        output: json!({
            "type": "object",
            "properties": {
                "replaced": {"type": "integer", "description": "Number of replaced occurrences."},
                "line": {"type": "integer", "description": "Line of the first replaced occurrence."},
            },
            "required": ["replaced", "line"],
        }),
        reads_files: true,
        writes: true,
        done: "Edited file".into(),
        subject: texts(["path"]),
        ..ToolSpec::base()
    }
}

fn delete() -> ToolSpec {
    ToolSpec {
        name: "fs:delete".into(),
        aliases: texts(["file_delete"]),
        groups: texts(["file_write"]),
        level: ToolLevel::Restricted,
        description: "Delete a file or an empty directory.".into(),
        input: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path relative to the project root."},
            },
            "required": ["path"],
            "additionalProperties": false,
        }),
        output: json!({
            "type": "object",
            "properties": {"deleted": {"type": "boolean"}},
            "required": ["deleted"],
        }),
        writes: true,
        done: "Deleted file".into(),
        subject: texts(["path"]),
        ..ToolSpec::base()
    }
}
