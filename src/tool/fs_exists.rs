use super::call::{CallResult, Refusal};
use super::file_tool::FileTool;
use super::{Tool, ToolLevel, ToolSpec};
use crate::workspace::FileAccess;
use crate::workspace::PathError;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Args {
    path: String,
}

/// `fs:exists`: whether a path names something.
pub(super) fn tool() -> impl Tool {
    let spec = ToolSpec {
        name: "fs:exists",
        level: ToolLevel::Safe,
        description: "Check whether a path exists and whether it is a file or a directory.",
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
            "properties": {
                "exists": {"type": "boolean"},
                "kind": {"enum": ["file", "directory", "symlink", "other", null]},
            },
            "required": ["exists", "kind"],
        }),
        only_reads: true,
    };
    FileTool::new(spec, |args: &Args, files, _| exists(args, files))
}

fn exists(args: &Args, files: &FileAccess) -> Result<CallResult, Refusal> {
    let mut evidence = Vec::new();
    let result = match files.locate(&args.path) {
        Ok(located) => {
            evidence.push(FileAccess::seen(&located, None));
            json!({ "exists": true, "kind": located.kind() })
        }
        // `a/b` where `a` is a file does not exist either.
        Err(PathError::Missing(_) | PathError::WrongKind { .. }) => {
            json!({ "exists": false, "kind": null })
        }
        Err(error) => return Err(error.into()),
    };
    Ok(CallResult { evidence, ..CallResult::success(result) })
}
