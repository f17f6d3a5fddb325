use super::call::{CallResult, Refusal};
use super::file_tool::FileTool;
use super::{Tool, ToolLevel, ToolSpec};
use crate::workspace::FileAccess;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Args {
    path: String,
    content: String,
}

/// `fs:write`: a whole file, with the folders that it needs.
pub(super) fn tool() -> impl Tool {
    let spec = ToolSpec {
        name: "fs:write",
        level: ToolLevel::Restricted,
        description: "Write a file. Creates the file and its parent directories, or replaces the \
                      whole content of an existing file. To change part of a file, use fs:edit.",
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
        only_reads: false,
    };
    FileTool::new(spec, |args: &Args, files, _| write(args, files))
}

fn write(args: &Args, files: &FileAccess) -> Result<CallResult, Refusal> {
    let target = files.writable(&args.path, true)?;
    let before = target.observed()?;
    let after = target.write(args.content.as_bytes())?;
    let result = json!({ "created": before.state.is_none(), "bytes": args.content.len() });
    let change = files.change(&target, before, Some((after, args.content.as_bytes())));
    Ok(CallResult::success(result).with_changes(vec![change]))
}
