use super::call::{Call, CallResult, Refusal};
use super::files::Files;
use super::toolbox::Toolbox;
use super::{Tool, ToolLevel, ToolSpec};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// `fs:delete`: a file, a link (not what it leads to), or an empty directory.
pub(super) struct FsDelete {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Args {
    path: String,
}

impl FsDelete {
    pub(super) fn new() -> Self {
        let spec = ToolSpec {
            name: "fs:delete",
            level: ToolLevel::Restricted,
            description: "Deletes a file or an empty directory of the workspace.",
            input: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Relative to the workspace."},
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
        FsDelete { spec }
    }
}

impl Tool for FsDelete {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        toolbox: &'a Toolbox,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        toolbox.file_work(&self.spec, call, cancel, |args: Args, files, _| delete(&args, files))
    }
}

fn delete(args: &Args, files: &Files) -> Result<CallResult, Refusal> {
    let place = files.place(&args.path, false)?;
    let before = place.observed()?;
    place.remove()?;
    let change = files.change(&place, before, None);
    Ok(CallResult::success(json!({ "deleted": true })).with_changes(vec![change]))
}
