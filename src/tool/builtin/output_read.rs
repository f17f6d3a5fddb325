//! `output:read` and `artifact:get`: read the rest of a truncated result, and artifacts of earlier steps.

use crate::diagnostic::Code;
use crate::tool::call::{Call, CallResult, Refusal};
use crate::tool::context::{CallContext, Tool, arguments};
use crate::tool::output_store::OutputStore;
use crate::value::Failure;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// The implementation of `output:read`.
pub(super) struct OutputRead;

#[derive(Deserialize)]
struct Args {
    #[serde(rename = "ref")]
    reference: String,
    offset: Option<usize>,
}

/// The implementation of `artifact:get`.
pub(super) struct ArtifactGet;

#[derive(Deserialize)]
struct ArtifactArgs {
    id: String,
    offset: Option<usize>,
}

impl Tool for ArtifactGet {
    fn name(&self) -> &'static str {
        "artifact:get"
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        context: &'a CallContext<'a>,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            let args = arguments::<ArtifactArgs>(call);
            args.and_then(|args| artifact(&args, context.outputs)).into()
        })
    }
}

fn artifact(args: &ArtifactArgs, outputs: &OutputStore) -> Result<CallResult, Refusal> {
    let Some(text) = outputs.artifact(&args.id) else {
        let message = format!("no artifact of an earlier step has the id `{}`", args.id);
        let help = "copy the id from the session state";
        let failure = Failure::new(Code::UNKNOWN_REFERENCE, message).help(help);
        return Err(Refusal::failed(failure));
    };
    Ok(piece_of(&text, args.offset.unwrap_or(0), outputs))
}

impl Tool for OutputRead {
    fn name(&self) -> &'static str {
        "output:read"
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        context: &'a CallContext<'a>,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            let args = arguments::<Args>(call);
            args.and_then(|args| read(&args, context.outputs)).into()
        })
    }
}

fn read(args: &Args, outputs: &OutputStore) -> Result<CallResult, Refusal> {
    let Some(text) = outputs.get(&args.reference) else {
        let message = format!("no result of this attempt has the reference `{}`", args.reference);
        let help = "copy the reference from the truncated result, or call that tool again";
        let failure = Failure::new(Code::UNKNOWN_REFERENCE, message).help(help);
        return Err(Refusal::failed(failure));
    };
    Ok(piece_of(&text, args.offset.unwrap_or(0), outputs))
}

fn piece_of(text: &str, offset: usize, outputs: &OutputStore) -> CallResult {
    let piece = outputs.piece();
    let mut rest = text.chars().skip(offset);
    let content: String = rest.by_ref().take(piece).collect();
    let next = rest.next().map(|_| offset + piece);
    CallResult::success(json!({ "content": content, "next": next }))
}
