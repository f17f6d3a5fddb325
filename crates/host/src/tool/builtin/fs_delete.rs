//! `fs:delete`: removes a file, a link (not its target) or an empty directory.

use super::file_tool::FileTool;
use crate::tool::call::{CallResult, Refusal};
use crate::tool::context::Tool;
use crate::workspace::FileAccess;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Args {
    path: String,
}

/// The implementation of `fs:delete`.
pub(super) fn tool() -> impl Tool {
    FileTool::new("fs:delete", |args: &Args, files, _| delete(args, files))
}

fn delete(args: &Args, files: &FileAccess) -> Result<CallResult, Refusal> {
    let target = files.writable(&args.path, false)?;
    let before = target.observed()?;
    files.workspace.writing(&target.shown, || target.remove())?;
    let change = files.change(&target, before, None);
    Ok(CallResult::success(json!({ "deleted": true })).with_changes(vec![change]))
}
