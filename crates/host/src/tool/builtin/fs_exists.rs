//! `fs:exists`: whether a path exists.

use super::file_tool::FileTool;
use crate::tool::call::{CallResult, Refusal};
use crate::tool::context::Tool;
use crate::workspace::FileAccess;
use crate::workspace::PathError;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Args {
    path: String,
}

/// The implementation of `fs:exists`.
pub(super) fn tool() -> impl Tool {
    FileTool::new("fs:exists", |args: &Args, files, _| exists(args, files))
}

fn exists(args: &Args, files: &FileAccess) -> Result<CallResult, Refusal> {
    let mut evidence = Vec::new();
    let result = match files.locate(&args.path) {
        Ok(located) => {
            evidence.push(FileAccess::seen(&located, None));
            json!({ "exists": true, "kind": located.kind() })
        }
        // If `a` is a file, `a/b` does not exist.
        Err(PathError::Missing(_) | PathError::WrongKind { .. }) => {
            json!({ "exists": false, "kind": null })
        }
        Err(error) => return Err(error.into()),
    };
    Ok(CallResult { evidence, ..CallResult::success(result) })
}
