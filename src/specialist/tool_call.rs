//! Making the call at the head of the queue, between its two records.

use super::compression::arguments;
use super::conversation::PendingCall;
use super::report::StopReason;
use super::runner::Attempt;
use crate::attempt::Progress;
use crate::clock;
use crate::diagnostic::Code;
use crate::evidence::{Invocation, InvocationStatus, Payload, Purpose, Record};
use crate::redaction::MASK;
use crate::tool::{Call, CallResult, Caller};
use crate::value::{Digest, Failure, json_text};
use std::time::Duration;

/// What a stopped tool is given to end by itself, so that its result is known.
const GRACE: Duration = Duration::from_secs(10);

impl Attempt<'_> {
    pub(super) async fn call_tool(&mut self) -> Result<(), StopReason> {
        let Some(pending) = self.conversation.pending().cloned() else { return Ok(()) };
        if pending.started && !self.toolset.only_reads(&pending.tool) {
            let (result, invocation) =
                not_made(&pending, InvocationStatus::Unknown, outcome_unknown());
            return self.record_result(result, invocation).await;
        }
        // A journal holds no values of secrets, so a call read back from it may have lost one.
        if arguments(&pending.args).contains(MASK) {
            let (result, invocation) = not_made(&pending, InvocationStatus::Denied, masked());
            return self.record_result(result, invocation).await;
        }
        if !pending.started {
            self.record(self.begun(&pending)).await?;
        }
        let shown = format!("{} {}", pending.tool, arguments(&pending.args));
        self.context.recorder.progress(Progress::Tool(shown.trim_end().to_owned()));
        let (result, invocation) = self.make(&pending).await?;
        self.record_result(result, invocation).await
    }

    fn begun(&self, pending: &PendingCall) -> Record {
        Record::ToolCall {
            turn: self.conversation.turns(),
            id: pending.id.clone(),
            tool: pending.tool.clone(),
            args: Payload::inline(pending.args.clone()),
        }
    }

    /// A tool that is stopped is waited for, because what it did until then is evidence.
    async fn make(
        &mut self,
        pending: &PendingCall,
    ) -> Result<(CallResult, Invocation), StopReason> {
        let cancel = self.context.cancel.child_token();
        let call = self.tool_call(pending);
        let toolset = self.toolset.clone();
        let mut result = toolset.call(&call, &cancel);
        let why = tokio::select! {
            result = &mut result => return Ok(result),
            () = self.context.cancel.cancelled() => StopReason::Cancelled,
            () = &mut self.deadline => StopReason::TimedOut,
        };
        cancel.cancel();
        tokio::time::timeout(GRACE, result).await.map_err(|_| why)
    }

    fn tool_call(&self, pending: &PendingCall) -> Call {
        let specialist = &self.work.specialist;
        let mut env = self.request.env.clone();
        env.extend(self.request.identity());
        Call {
            id: pending.id.clone(),
            tool: pending.tool.clone(),
            args: pending.args.clone(),
            caller: Caller::Specialist {
                id: specialist.id.to_string(),
                whitelist: self.whitelist.clone(),
            },
            env,
            cwd: self.request.cwd.clone(),
            evidence: self.request.evidence,
        }
    }

    async fn record_result(
        &mut self,
        result: CallResult,
        invocation: Invocation,
    ) -> Result<(), StopReason> {
        let turn = self.conversation.turns();
        let result = Payload::inline(result.result);
        self.record(Record::ToolResult { turn, invocation, result }).await
    }
}

fn outcome_unknown() -> Failure {
    let message = "outcome unknown: the runtime stopped while this call was under way, so it may \
                   or may not have taken effect";
    let help = "check the state, for example by reading the file, before you repeat the call";
    Failure::new(Code::CALL_OUTCOME_UNKNOWN.as_str(), message).help(help)
}

fn masked() -> Failure {
    let message = "not called: its arguments hold the mask of a secret instead of a value";
    let help = "ask for the call again without the secret; secrets reach processes as environment";
    Failure::new(Code::MASKED_ARGUMENT.as_str(), message).help(help)
}

fn not_made(
    pending: &PendingCall,
    status: InvocationStatus,
    failure: Failure,
) -> (CallResult, Invocation) {
    let result = CallResult::failed(status, failure);
    let invocation = Invocation {
        id: pending.id.clone(),
        tool: pending.tool.clone(),
        args: pending.args.clone(),
        args_hash: Digest::of_json(&pending.args),
        at: clock::now(),
        duration_ms: 0,
        purpose: Purpose::Execution,
        status: result.status,
        changes: Vec::new(),
        evidence: Vec::new(),
        process: None,
        bytes: json_text(&result.result).len() as u64,
    };
    (result, invocation)
}
