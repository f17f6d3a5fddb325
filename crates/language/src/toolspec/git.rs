//! The tools that work with the repository: `git:commit`.

use super::spec::{ToolLevel, ToolSpec, texts};
use serde_json::json;

pub(super) fn specs() -> Vec<ToolSpec> {
    vec![ToolSpec {
        name: "git:commit".into(),
        level: ToolLevel::Restricted,
        description: "Commit the changes of some files and folders, also removed ones. Hooks and filters do not run. \
                  Other changes stay as they are. Without changes in the paths, nothing is committed."
            .into(),
        input: json!({
            "type": "object",
            "properties": {
                "paths": {
                    "type": "array",
                    "items": {"type": "string", "minLength": 1},
                    "minItems": 1,
                    "description": "Files and folders, relative to the project root. No patterns.",
                },
                "message": {"type": "string", "minLength": 1},
            },
            "required": ["paths", "message"],
            "additionalProperties": false,
        }),
        output: json!({
            "type": "object",
            "properties": {
                "commit": {"type": ["string", "null"], "description": "The id of the commit; null without changes."},
                "files": {"type": "array", "items": {"type": "string"}, "description": "The files that changed."},
            },
            "required": ["commit", "files"],
        }),
        reads_files: true,
        writes: true,
        done: "Committed".into(),
        subject: texts(["message"]),
        ..ToolSpec::base()
    }]
}
