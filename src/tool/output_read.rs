use super::call::{Call, CallResult, Refusal};
use super::output_store::OutputStore;
use super::toolbox::Toolbox;
use super::{Tool, ToolLevel, ToolSpec};
use crate::diagnostic::Code;
use crate::value::{Failure, limits};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// `output:read`: reads on in the result of an earlier call that was cut.
pub(super) struct OutputRead {
    spec: ToolSpec,
}

/// Characters that one call hands out. Quoting at most doubles them; then the piece still is not
/// longer than what a model is shown of this tool, five times the usual.
const PIECE_CHARS: usize = 5 * limits::TOOL_RESULT_CHARS / 2 - 100;

#[derive(Deserialize)]
struct Args {
    #[serde(rename = "ref")]
    reference: String,
    offset: Option<usize>,
}

impl OutputRead {
    /// Its name; it needs no whitelist, since it shows nothing that was not a result before.
    pub(super) const NAME: &'static str = "output:read";

    pub(super) fn new() -> Self {
        let spec = ToolSpec {
            name: Self::NAME,
            level: ToolLevel::Safe,
            description: "Continue reading an earlier tool result that was truncated. Pass its ref \
                          and the offset in characters from the truncation note. The result \
                          contains next, the offset of the following part, or null at the end.",
            input: json!({
                "type": "object",
                "properties": {
                    "ref": {"type": "string", "minLength": 1},
                    "offset": {"type": "integer", "minimum": 0},
                },
                "required": ["ref"],
                "additionalProperties": false,
            }),
            output: json!({
                "type": "object",
                "properties": {
                    "content": {"type": "string"},
                    "next": {"type": ["integer", "null"]},
                },
                "required": ["content", "next"],
            }),
            only_reads: true,
        };
        OutputRead { spec }
    }
}

impl Tool for OutputRead {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        toolbox: &'a Toolbox,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            let args = super::toolbox::arguments::<Args>(call);
            args.and_then(|args| read(&args, toolbox.outputs())).into()
        })
    }
}

fn read(args: &Args, outputs: &OutputStore) -> Result<CallResult, Refusal> {
    let Some(text) = outputs.get(&args.reference) else {
        let message = format!("no result of this attempt has the reference `{}`", args.reference);
        let help = "copy the reference from the cut result, or call that tool again";
        let failure = Failure::new(Code::UNKNOWN_REFERENCE.as_str(), message).help(help);
        return Err(Refusal::failed(failure));
    };
    let offset = args.offset.unwrap_or(0);
    let mut rest = text.chars().skip(offset);
    let content: String = rest.by_ref().take(PIECE_CHARS).collect();
    let next = rest.next().map(|_| offset + PIECE_CHARS);
    Ok(CallResult::success(json!({ "content": content, "next": next })))
}
