//! Tools that a server declared at run time.

use super::plugin::{mismatch, receipts};
use crate::tool::call::{Call, CallResult, Refusal};
use crate::tool::call_desk::CallDesk;
use crate::tool::context::{CallContext, Tool, cancelled};
use crate::tool::input_request::InputRequest;
use crate::tool::process_launcher::ProcessLauncher;
use crate::tool::server::{ServerPlace, ToolServer};
use futures::future::BoxFuture;
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, Json, format_duration, json_text, limits};
use kb_core::evidence::InvocationStatus;
use kb_language::definition::Schema;
use kb_language::toolspec::ToolSpec;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The time limit of a call where the step has none.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A tool of a server.
pub(in crate::tool) struct DeclaredTool {
    pub(in crate::tool) spec: Arc<ToolSpec>,
    pub(in crate::tool) server: Arc<dyn ToolServer>,
}

impl Tool for DeclaredTool {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn code(&self, processes: &ProcessLauncher) -> BTreeMap<String, Digest> {
        self.server.code(&self.spec, processes)
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        context: &'a CallContext<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        let limit = context.limit.unwrap_or(TIMEOUT);
        Box::pin(async move {
            let desk = CallDesk::of(call, context.recorder, context.redactor);
            let place = match ServerPlace::of(context.processes).await {
                Ok(place) => ServerPlace { talk: Some(desk.clone()), ..place },
                Err(failure) => return CallResult::failed(InvocationStatus::Denied, failure),
            };
            let answer = tokio::select! {
                answer = self.server.call(&self.spec, &call.args, place, cancel) => answer,
                () = cancel.cancelled() => return cancelled(),
                _woken = context.clock.sleep_until(context.clock.instant() + limit) => {
                    return self.timed_out(limit);
                }
            };
            if let Some(asked) = desk.open_question() {
                return unanswered(asked);
            }
            // The output is masked before it is compared: messages quote it.
            let answer = answer.map(|output| context.redactor.mask_json(&output));
            let (output, wrong) = match answer {
                Ok(output) => {
                    let wrong = self.wrong(&output);
                    (output, wrong)
                }
                Err(failure) => (Json::Null, Some(failure)),
            };
            match wrong {
                None => {
                    let evidence = receipts(&output);
                    CallResult { evidence, ..CallResult::success(output) }
                }
                Some(failure) => CallResult::failed(InvocationStatus::Failed, failure),
            }
        })
    }
}

impl DeclaredTool {
    /// Why the output is no result. A tool without a schema can return any JSON value.
    fn wrong(&self, output: &Json) -> Option<Failure> {
        let name = format!("`{}`", self.spec.name);
        let failed = |message| Some(Failure::new(Code::PLUGIN_OUTPUT, message));
        if json_text(output).len() > limits::STREAM_BYTES {
            let kib = limits::STREAM_BYTES >> 10;
            return failed(format!("the output of {name} has more than {kib} KiB"));
        }
        if self.spec.output.is_null() {
            return None;
        }
        match Schema::new(self.spec.output.clone()) {
            Ok(schema) => mismatch(&name, &schema, output),
            Err(_) => failed(format!("the schema of the output of {name} is invalid")),
        }
    }

    fn timed_out(&self, limit: Duration) -> CallResult {
        let (name, limit) = (&self.spec.name, format_duration(limit));
        let message = format!("`{name}` did not answer within {limit}");
        let failure = Failure::new(Code::COMMAND_TIMED_OUT, message);
        CallResult::failed(InvocationStatus::Timeout, failure.help("raise `timeout` of the step"))
    }
}

/// The result of a call whose server asks a person. What the server says after that is not used.
fn unanswered(asked: InputRequest) -> CallResult {
    let message = format!("the MCP server `{}` asks a person", asked.question.server);
    let failure = Failure::new(Code::MCP_CALL_FAILED, message)
        .help("make the same call again when the question is answered");
    let failed = CallResult::failed(InvocationStatus::Failed, failure);
    CallResult { asks: Some(Box::new(asked)), ..failed }
}

/// A tool that the run began with, and that nothing executes now.
pub(in crate::tool) struct AbsentTool(pub(in crate::tool) Arc<ToolSpec>);

impl Tool for AbsentTool {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn call<'a>(
        &'a self,
        _: &'a Call,
        _: &'a CallContext<'a>,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        let message = format!(
            "`{}` is not the tool that the run began with: its server declares it differently now, or not at all",
            self.0.name
        );
        let failure = Failure::new(Code::UNKNOWN_TOOL, message).help("start a new run");
        Box::pin(async move { Refusal::denied(failure).into() })
    }
}
