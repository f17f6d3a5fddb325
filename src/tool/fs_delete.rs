use super::call::{CallResult, Refusal};
use super::file_tool::FileTool;
use super::{Tool, ToolLevel, ToolSpec};
use crate::workspace::FileAccess;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Args {
    path: String,
}

/// `fs:delete`: a file, a link (not what it leads to), or an empty directory.
pub(super) fn tool() -> impl Tool {
    let spec = ToolSpec {
        name: "fs:delete",
        level: ToolLevel::Restricted,
        description: "Delete a file or an empty directory.",
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
        only_reads: false,
    };
    FileTool::new(spec, |args: &Args, files, _| delete(args, files))
}

fn delete(args: &Args, files: &FileAccess) -> Result<CallResult, Refusal> {
    let target = files.writable(&args.path, false)?;
    let before = target.observed()?;
    target.remove()?;
    let change = files.change(&target, before, None);
    Ok(CallResult::success(json!({ "deleted": true })).with_changes(vec![change]))
}
