//! `fs:write`: writes a whole file and creates missing directories.

use super::file_tool::FileTool;
use crate::tool::call::{CallResult, Refusal};
use crate::tool::context::Tool;
use crate::workspace::FileAccess;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Args {
    path: String,
    content: String,
}

/// The implementation of `fs:write`.
pub(super) fn tool() -> impl Tool {
    FileTool::new("fs:write", |args: &Args, files, _| write(args, files))
}

fn write(args: &Args, files: &FileAccess) -> Result<CallResult, Refusal> {
    let target = files.writable(&args.path, true)?;
    let before = target.observed()?;
    let write = || target.write(args.content.as_bytes());
    let after = files.workspace.writing(&target.shown, write)?;
    let result = json!({ "created": before.state.is_none(), "bytes": args.content.len() });
    let change = files.change(&target, before, Some((after, args.content.as_bytes())));
    Ok(CallResult::success(result).with_changes(vec![change]))
}
