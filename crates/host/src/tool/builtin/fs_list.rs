//! `fs:list`: lists a directory.

use super::file_tool::FileTool;
use crate::tool::call::{CallResult, Refusal};
use crate::tool::context::Tool;
use crate::workspace::Entry;
use crate::workspace::FileAccess;
use crate::workspace::PathGlob;
use crate::workspace::wrong_kind;
use kb_base::value::Json;
use kb_core::evidence::FileKind;
use serde::Deserialize;
use serde_json::json;
use std::ops::ControlFlow;
use tokio_util::sync::CancellationToken;

/// Maximum number of entries in one result.
const MAX_ENTRIES: usize = 1_000;

#[derive(Deserialize)]
struct Args {
    path: Option<String>,
    glob: Option<String>,
    depth: Option<usize>,
}

/// The implementation of `fs:list`.
pub(super) fn tool() -> impl Tool {
    FileTool::new("fs:list", list)
}

fn list(
    args: &Args,
    files: &FileAccess,
    cancel: &CancellationToken,
) -> Result<CallResult, Refusal> {
    let path = args.path.as_deref().unwrap_or(".");
    let located = files.locate(path)?;
    if located.kind() != FileKind::Directory {
        return Err(wrong_kind(&located.shown, located.kind(), "a directory").into());
    }
    let glob = args.glob.as_deref().map(PathGlob::anywhere).transpose()?;
    let depth = args.depth.or(if glob.is_some() { None } else { Some(1) });
    let prefix = located.prefix(&files.workspace);
    let (mut listed, mut more) = (Vec::new(), false);
    files.walk(&located, depth, glob.as_ref(), cancel, &mut |entry| {
        if listed.len() == MAX_ENTRIES {
            more = true;
            return ControlFlow::Break(());
        }
        listed.push(view(entry, &prefix));
        ControlFlow::Continue(())
    });
    let mut result = json!({ "entries": listed });
    if more {
        result["note"] = json!(format!(
            "showing the first {MAX_ENTRIES} entries; narrow the request with `path`, `glob` or `depth`"
        ));
    }
    let evidence = vec![FileAccess::seen(&located, None)];
    Ok(CallResult { evidence, ..CallResult::success(result) })
}

fn view(entry: &Entry<'_>, prefix: &str) -> Json {
    let size = if entry.kind == FileKind::File { entry.size() } else { 0 };
    json!({ "path": format!("{prefix}{}", entry.shown), "kind": entry.kind, "size": size })
}
