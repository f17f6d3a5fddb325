//! Execution of the first tool call in the queue, between the records of its start and its result.

use super::approval::{call_hash, input, request};
use super::compression::arguments;
use super::pending_call::PendingCall;
use super::report::StopReason;
use super::runner::Attempt;
use crate::llm::AgentEvent;
use crate::tool::{Call, CallResult, Caller};
use futures::StreamExt;
use futures::future::BoxFuture;
use kb_attempt::{Progress, run_blocking};
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, Json, json_text};
use kb_core::evidence::{Invocation, InvocationStatus, Payload, Phase, Purpose, Record};
use kb_core::redaction::MASK;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a cancelled tool may take to end, so that its result is recorded.
const GRACE: Duration = Duration::from_secs(10);

/// Number of tool calls that run at the same time.
const SIDE_BY_SIDE: usize = 8;

impl Attempt<'_> {
    /// Executes the first call in the queue, together with those after it that only read.
    pub(super) async fn call_tools(&mut self) -> Result<(), StopReason> {
        let state = self.conversation.state();
        let allowed = state.max_tool_calls.saturating_sub(state.tool_calls) as usize;
        let reads = |call: &&PendingCall| {
            !call.started
                && self.toolset.tools().entry(&call.tool).only_reads
                && !arguments(&call.args).contains(MASK)
                && self.toolset.approval(&self.tool_call(call)).is_none()
        };
        let batch: Vec<PendingCall> =
            self.conversation.queue().take_while(reads).take(allowed).cloned().collect();
        match batch.len() {
            0 | 1 => self.call_tool().await,
            _ => self.call_side_by_side(&batch).await,
        }
    }

    /// Executes calls that only read at the same time; their results are recorded in their order.
    async fn call_side_by_side(&mut self, batch: &[PendingCall]) -> Result<(), StopReason> {
        let mut calls = Vec::new();
        for pending in batch {
            self.spend_tool_call().await?;
            self.record(self.start_record(pending)).await?;
            let shown = format!("{} {}", pending.tool, arguments(&pending.args));
            self.context.recorder.progress(Progress::Tool(shown.trim_end().to_owned()));
            calls.push(self.tool_call(pending));
        }
        let cancel = self.context.cancel.child_token();
        let toolset = self.toolset.clone();
        let results = {
            let running: Vec<BoxFuture<'_, (CallResult, Invocation)>> =
                calls.iter().map(|call| toolset.call(call, &cancel)).collect();
            let running = futures::stream::iter(running).buffered(SIDE_BY_SIDE);
            let mut results = std::pin::pin!(running.collect::<Vec<_>>());
            let reason = tokio::select! {
                results = &mut results => Ok(results),
                () = self.context.cancel.cancelled() => Err(StopReason::Cancelled),
                _woken = self.deadline.passed() => Err(StopReason::TimedOut),
            };
            match reason {
                Ok(results) => results,
                Err(reason) => {
                    cancel.cancel();
                    tokio::time::timeout(GRACE, results).await.map_err(|_| reason)?
                }
            }
        };
        for (result, invocation) in results {
            self.record_result(result, invocation).await?;
        }
        Ok(())
    }

    pub(super) async fn call_tool(&mut self) -> Result<(), StopReason> {
        let Some(pending) = self.conversation.pending().cloned() else { return Ok(()) };
        if pending.started && !self.toolset.tools().entry(&pending.tool).can_be_repeated() {
            let (result, invocation) =
                self.not_executed(&pending, InvocationStatus::Unknown, outcome_unknown());
            return self.record_result(result, invocation).await;
        }
        // The journal contains no values of secrets, so a call that was read back may have lost one.
        if arguments(&pending.args).contains(MASK) {
            let (result, invocation) =
                self.not_executed(&pending, InvocationStatus::Denied, masked());
            return self.record_result(result, invocation).await;
        }
        if let Some(why) = self.toolset.approval(&self.tool_call(&pending)) {
            if let Some(rejection) = self.conversation.decisions().rejection(&pending.id) {
                let failure = rejected(rejection);
                let (result, invocation) =
                    self.not_executed(&pending, InvocationStatus::Denied, failure);
                return self.record_result(result, invocation).await;
            }
            let code = self.code(&pending);
            let decisions = self.conversation.decisions();
            if !decisions.approves(&call_hash(&pending, &self.request.cwd, &code)) {
                let specialist = self.work.specialist.id.as_str();
                let before = decisions.approved_code(&pending.id, &code);
                let request =
                    request(&pending, &self.request.cwd, specialist, &why, code.clone(), before);
                return Err(StopReason::Asks(Box::new(request)));
            }
        }
        if !pending.started {
            self.spend_tool_call().await?;
            self.record(self.start_record(&pending)).await?;
        }
        let shown = format!("{} {}", pending.tool, arguments(&pending.args));
        self.context.recorder.progress(Progress::Tool(shown.trim_end().to_owned()));
        let (result, invocation) = self.execute(&pending, &CancellationToken::new()).await?;
        if let Some(asked) = &result.asks {
            let specialist = self.work.specialist.id.as_str();
            return Err(StopReason::Asks(Box::new(input(&pending, specialist, asked))));
        }
        let changed = protected_change(&result);
        self.record_result(result, invocation).await?;
        changed.map_or(Ok(()), |failure| Err(StopReason::ProtectedPathsChanged(failure)))
    }

    /// The turn of a call. A coding agent makes calls before its response.
    pub(super) fn turn_of_call(&self) -> u32 {
        self.conversation.turns() + u32::from(self.agent.is_some())
    }

    pub(super) fn start_record(&self, pending: &PendingCall) -> Record {
        let state = self.conversation.state();
        let within = state.phase.map(|phase| (phase, state.round));
        let (made, limit) = (state.tool_calls, state.max_tool_calls);
        Record::ToolCall {
            percent_done: Some(Phase::percent_before_call(within, made, limit)),
            turn: self.turn_of_call(),
            id: pending.id.clone(),
            tool: pending.tool.clone(),
            args: Payload::inline(pending.args.clone()),
        }
    }

    /// Executes the call. A cancelled tool gets time to end: its changes until then are evidence.
    async fn execute(
        &mut self,
        pending: &PendingCall,
        withdrawn: &CancellationToken,
    ) -> Result<(CallResult, Invocation), StopReason> {
        let cancel = self.context.cancel.child_token();
        let call = self.tool_call(pending);
        let toolset = self.toolset.clone();
        let mut result = toolset.call(&call, &cancel);
        let reason = tokio::select! {
            result = &mut result => {
                self.count_delegated();
                return Ok(result);
            }
            () = self.context.cancel.cancelled() => StopReason::Cancelled,
            _woken = self.deadline.passed() => StopReason::TimedOut,
            () = withdrawn.cancelled() => {
                cancel.cancel();
                return Ok(result.await);
            }
        };
        cancel.cancel();
        let ended = tokio::time::timeout(GRACE, result).await.map_err(|_| reason);
        self.count_delegated();
        ended
    }

    /// Counts what tasks that calls delegated have used. Their records are stored.
    fn count_delegated(&mut self) {
        for record in self.toolset.take_delegated() {
            self.conversation.apply(&record);
        }
    }

    /// The code of the plugin that a call executes.
    pub(super) fn code(&self, pending: &PendingCall) -> BTreeMap<String, Digest> {
        run_blocking(|| self.toolset.code(&pending.tool))
    }

    pub(super) fn tool_call(&self, pending: &PendingCall) -> Call {
        let specialist = &self.work.specialist;
        let mut env = self.request.env.clone();
        env.extend(self.request.identity());
        Call {
            id: pending.id.clone(),
            tool: pending.tool.clone(),
            args: pending.args.clone(),
            caller: Caller::Specialist {
                id: specialist.id.to_string(),
                allow_list: self.allow_list.clone(),
                network: specialist.network,
            },
            env,
            cwd: self.request.cwd.clone(),
            evidence: self.request.evidence,
            approved: self.conversation.decisions().approves(&call_hash(
                pending,
                &self.request.cwd,
                &self.code(pending),
            )),
            answers: self.conversation.decisions().inputs(),
        }
    }

    async fn record_result(
        &mut self,
        result: CallResult,
        invocation: Invocation,
    ) -> Result<(), StopReason> {
        let turn = self.turn_of_call();
        let result = Payload::inline(result.result);
        self.record(Record::ToolResult { turn, invocation, result }).await
    }

    /// Executes a call of a coding agent between the records of its start and its result. It is stopped if the agent
    /// withdraws it. The error may be a question to a person.
    pub(super) async fn call_recorded(
        &mut self,
        pending: &PendingCall,
        withdrawn: &CancellationToken,
    ) -> Result<CallResult, StopReason> {
        let (tool, args) = (pending.tool.clone(), pending.args.clone());
        self.keep_event(AgentEvent::Called { tool, args });
        let refused = self.decision(pending)?;
        self.record(self.start_record(pending)).await?;
        let shown = format!("{} {}", pending.tool, arguments(&pending.args));
        self.context.recorder.progress(Progress::Tool(shown.trim_end().to_owned()));
        let (result, invocation) = if arguments(&pending.args).contains(MASK) {
            self.not_executed(pending, InvocationStatus::Denied, masked())
        } else if let Some(failure) = refused {
            self.not_executed(pending, InvocationStatus::Denied, failure)
        } else {
            self.execute(pending, withdrawn).await?
        };
        let changed = protected_change(&result);
        self.record_result(result.clone(), invocation).await?;
        if let Some(asked) = &result.asks {
            let specialist = self.work.specialist.id.as_str();
            return Err(StopReason::Asks(Box::new(input(pending, specialist, asked))));
        }
        changed.map_or(Ok(result), |failure| Err(StopReason::ProtectedPathsChanged(failure)))
    }

    /// The result of a call that is refused.
    fn not_executed(
        &self,
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
            at: self.clock.now(),
            duration_ms: 0,
            purpose: Purpose::Execution,
            status: result.status,
            changes: Vec::new(),
            evidence: Vec::new(),
            process: None,
            output: None,
            bytes: json_text(&result.result).len() as u64,
        };
        (result, invocation)
    }
}

/// The failure of a command that changed protected paths. The attempt ends with it: steps of the
/// author may execute what was changed. A refused write is no change.
fn protected_change(result: &CallResult) -> Option<Failure> {
    let failure = result.failure.as_ref()?;
    let has_changed = failure.code == Code::PATH_PROTECTED && !result.changes.is_empty();
    has_changed.then(|| failure.clone())
}

/// The result of a call for who asked for it.
pub(super) fn answer_of(result: CallResult) -> Result<Json, Failure> {
    match result.failure {
        Some(failure) => Err(failure),
        None => Ok(result.result),
    }
}

fn outcome_unknown() -> Failure {
    let message = "outcome unknown: the runtime stopped during this call; it may or may not have \
                   taken effect";
    let help =
        "inspect the current state, for example by reading the file, before you repeat the call";
    Failure::new(Code::CALL_OUTCOME_UNKNOWN, message).help(help)
}

pub(super) fn rejected(why: &str) -> Failure {
    let help = "choose another way, or submit what you have";
    Failure::new(Code::APPROVAL_REJECTED, format!("not executed: {why}")).help(help)
}

fn masked() -> Failure {
    let message = "not executed: the arguments contain the mask of a secret instead of its value";
    let help =
        "repeat the call without the secret; processes receive secrets as environment variables";
    Failure::new(Code::MASKED_ARGUMENT, message).help(help)
}
