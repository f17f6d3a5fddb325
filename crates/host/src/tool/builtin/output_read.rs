//! `output:read` and `artifact:get`: read the rest of a truncated result, and artifacts of earlier steps.

use crate::tool::call::{Call, CallResult, Refusal};
use crate::tool::context::{CallContext, Tool, arguments};
use crate::tool::output_store::OutputStore;
use futures::future::BoxFuture;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A tool that returns a stored text in pieces.
pub(super) struct StoredText {
    name: &'static str,
    find: fn(&OutputStore, &str) -> Option<Arc<str>>,
    /// What is missing, before the id, and where the model finds the id.
    missing: [&'static str; 2],
}

/// The implementation of `output:read`.
pub(super) const OUTPUT_READ: StoredText = StoredText {
    name: "output:read",
    find: OutputStore::get,
    missing: [
        "no result of this attempt has the reference",
        "copy the reference from the truncated result, or call that tool again",
    ],
};

/// The implementation of `artifact:get`.
pub(super) const ARTIFACT_GET: StoredText = StoredText {
    name: "artifact:get",
    find: OutputStore::artifact,
    missing: ["no artifact of an earlier step has the id", "copy the id from the session state"],
};

#[derive(Deserialize)]
struct Args {
    #[serde(rename = "ref", alias = "id")]
    id: String,
    offset: Option<usize>,
}

impl Tool for StoredText {
    fn name(&self) -> &'static str {
        self.name
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        context: &'a CallContext<'a>,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            let args = arguments::<Args>(call);
            args.and_then(|args| self.piece(&args, context.outputs)).into()
        })
    }
}

impl StoredText {
    fn piece(&self, args: &Args, outputs: &OutputStore) -> Result<CallResult, Refusal> {
        let Some(text) = (self.find)(outputs, &args.id) else {
            let [what, help] = self.missing;
            let message = format!("{what} `{}`", args.id);
            let failure = Failure::new(Code::UNKNOWN_REFERENCE, message).help(help);
            return Err(Refusal::failed(failure));
        };
        let (offset, piece) = (args.offset.unwrap_or(0), outputs.piece());
        let mut rest = text.chars().skip(offset);
        let content: String = rest.by_ref().take(piece).collect();
        let next = rest.next().map(|_| offset + piece);
        Ok(CallResult::success(json!({ "content": content, "next": next })))
    }
}
