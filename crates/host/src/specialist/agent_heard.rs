//! What a coding agent tells and asks during a turn: recorded as what it is, and answered by the policy.

use super::open_agent::{Interrupted, Worker};
use super::pending_call::PendingCall;
use super::report::StopReason;
use super::runner::Attempt;
use super::tool_call::answer_of;
use super::turn::GiveUpReason;
use crate::agent::{
    AgentFault, Asked, CallReport, CallState, Event, FileRead, FileWrite, Permission, Update,
    Wanted, Wire,
};
use crate::llm::AgentEvent;
use crate::tool::Call;
use kb_attempt::Progress;
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, Json, one_line};
use kb_core::evidence::{
    CallRequest, Invocation, InvocationStatus, Note, Payload, Purpose, REPORTED, Record,
};
use kb_language::toolspec::{FILE_READER, FILE_WRITER, NeededTools};
use serde_json::json;
use std::collections::BTreeMap;
use tokio_util::sync::CancellationToken;

/// Maximum size of the text of a turn, in bytes.
const TEXT: usize = 1 << 20;
/// Maximum number of questions in a turn.
const QUESTIONS: u32 = 1_000;
/// Maximum number of notes about plans and texts in a turn.
const NOTES: u32 = 50;
/// Characters of a text in a note.
const SHOWN: usize = 1_000;

/// The codes of the answers to requests that fail.
const NO_RESOURCE: i64 = -32002;
const FAILED: i64 = -32603;

/// What was heard in a turn.
#[derive(Default)]
pub(super) struct Heard {
    /// The message that the agent writes.
    text: String,
    /// The message before, which is the last one if no other follows.
    before: String,
    /// Bytes of all messages.
    bytes: usize,
    /// Calls that were reported and have not ended, by the id that the agent gave them.
    reports: BTreeMap<String, (String, CallReport)>,
    /// Calls that have ended.
    ended: std::collections::BTreeSet<String>,
    plan: String,
    notes: u32,
    questions: u32,
}

impl Heard {
    /// The last message of the turn.
    pub(super) fn last_message(self) -> String {
        if self.text.trim().is_empty() { self.before } else { self.text }
    }
}

impl Attempt<'_> {
    pub(super) async fn hear(
        &mut self,
        event: Event,
        heard: &mut Heard,
        wire: &Wire,
        worker: &mut Worker,
    ) -> Result<(), Interrupted> {
        match event {
            Event::Told(Update::Text(text)) => {
                heard.bytes += text.len();
                if heard.bytes > TEXT {
                    let why = format!("the text of a turn has more than {} MiB", TEXT >> 20);
                    return Err(Interrupted::Fault(AgentFault::broken(why)));
                }
                heard.text.push_str(&text);
                self.context.recorder.progress(Progress::Token(text));
            }
            Event::Told(Update::Plan(plan)) => {
                if plan != heard.plan && heard.notes < NOTES {
                    heard.notes += 1;
                    let text = format!("the plan of the agent: {}", one_line(&plan, SHOWN));
                    self.record(Record::Note(Note::info(text))).await?;
                }
                heard.plan = plan;
            }
            Event::Told(Update::Cost(own)) => worker.cost = worker.cost.max(Some(own)),
            Event::Told(Update::Call(report)) => self.hear_of_call(report, heard).await?,
            Event::Told(Update::Other) => {}
            Event::Asked(asked) => {
                heard.questions += 1;
                if heard.questions > QUESTIONS {
                    let why = format!("it asks more than {QUESTIONS} times in a turn");
                    return Err(Interrupted::Fault(AgentFault::broken(why)));
                }
                self.answer(asked, wire, worker).await?;
            }
            Event::Called(called) => self.call_tool_of_kb(called, heard, worker).await?,
        }
        Ok(())
    }

    /// The id of the next call: another one than those of a session before, which was interrupted.
    pub(super) fn call_id(&self) -> String {
        let calls = self.conversation.state().tool_calls + 1;
        format!("call_{}_{}_{calls}", self.request.attempt, self.turn_of_call())
    }

    /// Counts a call, as far as the limits allow another one.
    pub(super) async fn count_call(&self) -> Result<(), StopReason> {
        let state = self.conversation.state();
        if state.tool_calls >= state.max_tool_calls {
            return Err(StopReason::GaveUp(GiveUpReason::ToolCalls));
        }
        self.spend_tool_call().await
    }

    /// Records what the agent says about a call of one of its own tools.
    async fn hear_of_call(
        &mut self,
        report: CallReport,
        heard: &mut Heard,
    ) -> Result<(), StopReason> {
        let own = report.id.clone();
        if heard.ended.contains(&own) {
            return Ok(());
        }
        if let Some((_, known)) = heard.reports.get_mut(&own) {
            known.take(report);
        } else if self.is_of_kb(&report) {
            // The call itself is recorded.
            heard.ended.insert(own);
            return Ok(());
        } else {
            self.end_message(heard).await?;
            let id = self.begin_report(&report).await?;
            heard.reports.insert(own.clone(), (id, report));
        }
        let state = heard.reports.get(&own).and_then(|(_, known)| known.state);
        let status = match state {
            None | Some(CallState::Running) => return Ok(()),
            Some(CallState::Completed) => InvocationStatus::Success,
            Some(CallState::Failed) => InvocationStatus::Failed,
        };
        let Some((id, report)) = heard.reports.remove(&own) else { return Ok(()) };
        heard.ended.insert(own);
        self.record_report(id, &report, status).await
    }

    /// Counts a reported call and records that it begins; returns its id.
    pub(super) async fn begin_report(&mut self, report: &CallReport) -> Result<String, StopReason> {
        self.count_call().await?;
        let id = self.call_id();
        let (tool, args) = (format!("{REPORTED}{}", report.kind()), report.args());
        let title = report.title.as_deref().unwrap_or_default();
        let shown = format!("{tool} {}", one_line(title, SHOWN));
        self.context.recorder.progress(Progress::Tool(shown.trim_end().to_owned()));
        self.record(self.start_record(&pending(id.clone(), &tool, args))).await?;
        Ok(id)
    }

    /// Records the reported calls that have not ended with the turn.
    pub(super) async fn close_reports(&mut self, heard: &mut Heard) -> Result<(), StopReason> {
        for (_, (id, report)) in std::mem::take(&mut heard.reports) {
            self.record_report(id, &report, InvocationStatus::Unknown).await?;
        }
        Ok(())
    }

    pub(super) async fn record_report(
        &mut self,
        id: String,
        report: &CallReport,
        status: InvocationStatus,
    ) -> Result<(), StopReason> {
        let args = report.args();
        let (kind, told) = (report.kind().to_owned(), args.clone());
        self.keep_event(AgentEvent::Reported { kind, args: told, status });
        let invocation = Invocation {
            id,
            tool: format!("{REPORTED}{}", report.kind()),
            args_hash: Digest::of_json(&args),
            args,
            at: self.clock.now(),
            duration_ms: 0,
            purpose: Purpose::Reported,
            status,
            changes: Vec::new(),
            evidence: Vec::new(),
            process: None,
            output: None,
            bytes: 0,
        };
        let (turn, result) = (self.turn_of_call(), Payload::inline(Json::Null));
        self.record(Record::ToolResult { turn, invocation, result }).await
    }

    /// What the agent wrote before a call is a message of its own.
    pub(super) async fn end_message(&mut self, heard: &mut Heard) -> Result<(), StopReason> {
        if heard.text.trim().is_empty() {
            return Ok(());
        }
        heard.before = std::mem::take(&mut heard.text);
        if heard.notes >= NOTES {
            return Ok(());
        }
        heard.notes += 1;
        let text = format!("the agent says: {}", one_line(heard.before.trim(), SHOWN));
        self.record(Record::Note(Note::info(text))).await
    }

    async fn answer(
        &mut self,
        asked: Asked,
        wire: &Wire,
        worker: &mut Worker,
    ) -> Result<(), StopReason> {
        let id = &asked.id;
        match asked.what {
            Wanted::Permission(permission) => {
                let allow = match self.decide(&permission).await {
                    Ok(allow) => allow,
                    Err(stop) => {
                        wire.answer(id, &Permission::cancelled()).await;
                        return Err(stop);
                    }
                };
                wire.answer(id, &permission.answer(allow)).await;
            }
            Wanted::Read(read) => match self.read(read).await? {
                Ok(content) => wire.answer(id, &json!({"content": content})).await,
                Err(failure) => refuse(wire, id, &failure).await,
            },
            Wanted::Write(write) => {
                self.record_own_changes(worker).await?;
                match self.write(write).await? {
                    Ok(()) => wire.answer(id, &json!({})).await,
                    Err(failure) => refuse(wire, id, &failure).await,
                }
            }
        }
        Ok(())
    }

    /// Whether the agent may make a call of its own: where the specialist may call the tools that do the same.
    pub(super) async fn decide(&mut self, permission: &Permission) -> Result<bool, StopReason> {
        let call = &permission.call;
        self.keep_event(AgentEvent::Asked { kind: call.kind().to_owned(), args: call.args() });
        let refusal = self.refusal(permission)?;
        let what = one_line(call.title.as_deref().unwrap_or(&call.id), SHOWN);
        let (kind, what) = (call.kind(), what.trim());
        let note = match &refusal {
            None => Note::info(format!("the agent may `{kind}`: {what}")),
            Some(why) => Note::warning(format!("the agent must not `{kind}` ({what}): {why}")),
        };
        self.record(Record::Note(note)).await?;
        Ok(refusal.is_none())
    }

    /// Why an agent must not make a call of its own. The error asks a person.
    fn refusal(&self, permission: &Permission) -> Result<Option<String>, StopReason> {
        let call = &permission.call;
        let with_tools_of_kb = self.with_tools_of_kb();
        let (tools, all) = match NeededTools::of_kind(call.kind()) {
            _ if !permission.can_be_allowed() => {
                return Ok(Some("it offers no permission for one call alone".to_owned()));
            }
            // The policy answers the call itself.
            None if with_tools_of_kb && self.names_tool_of_kb(call) => return Ok(None),
            Some(NeededTools::Nothing) => return Ok(None),
            _ if with_tools_of_kb => return Ok(Some("it works with the tools of kb".to_owned())),
            None => return Ok(Some(format!("no tool of kb does what `{}` does", call.kind()))),
            Some(NeededTools::AnyOf(tools)) => (tools, false),
            Some(NeededTools::All(tools)) => (tools, true),
        };
        let mut refusals = Vec::new();
        for tool in tools {
            let refusal = self.why_not(tool, call)?;
            if !all && refusal.is_none() {
                return Ok(None);
            }
            refusals.extend(refusal);
        }
        Ok(refusals.into_iter().next())
    }

    fn why_not(&self, tool: &str, report: &CallReport) -> Result<Option<String>, StopReason> {
        let wanted = pending(String::new(), tool, report.args());
        // Its arguments are those of the agent, which match no schema.
        let refusal = |approved| {
            let call = Call { approved, ..self.tool_call(&wanted) };
            self.toolset.refusal(&call, &report.paths)
        };
        if let Some(failure) = refusal(true) {
            return Ok(Some(failure.message));
        }
        let Some(needed) = refusal(false) else { return Ok(None) };
        Ok(self.decision_about(&wanted, &needed.message)?.map(|failure| failure.message))
    }

    async fn read(&mut self, read: FileRead) -> Result<Result<Json, Failure>, StopReason> {
        let FileRead { path, line, limit } = read;
        let (start, has_range) = (line.unwrap_or(1).max(1), line.is_some() || limit.is_some());
        let mut args = json!({"path": path});
        if has_range {
            args["startLine"] = json!(start);
        }
        if let Some(limit) = limit {
            args["endLine"] = json!(start.saturating_add(limit.max(1)) - 1);
        }
        let result = self.call_for_agent(FILE_READER, args).await?;
        Ok(result.and_then(|result| match (result.get("note"), has_range) {
            // An agent that takes a part for the whole would write it back.
            (Some(_), false) => {
                let message = format!("`{path}` is too large to be read at once");
                let help = "read it with `line` and `limit`";
                Err(Failure::new(Code::FILE_FAILED, message).help(help))
            }
            _ => Ok(result["content"].clone()),
        }))
    }

    async fn write(&mut self, write: FileWrite) -> Result<Result<(), Failure>, StopReason> {
        let args = json!({"path": write.path, "content": write.content});
        Ok(self.call_for_agent(FILE_WRITER, args).await?.map(drop))
    }

    /// Calls a tool for the agent, with the policy and the record of a call of the specialist itself.
    async fn call_for_agent(
        &mut self,
        tool: &str,
        args: Json,
    ) -> Result<Result<Json, Failure>, StopReason> {
        self.count_call().await?;
        let call = pending(self.call_id(), tool, args);
        Ok(answer_of(self.call_recorded(&call, &CancellationToken::new()).await?))
    }
}

pub(super) fn pending(id: String, tool: &str, args: Json) -> PendingCall {
    let request = CallRequest { id, tool: tool.to_owned(), args };
    PendingCall { request, started: false, as_text: false }
}

async fn refuse(wire: &Wire, id: &Json, failure: &Failure) {
    if failure.code == Code::PATH_MISSING {
        let message = format!("Resource not found: {}", failure.message);
        return wire.refuse(id, NO_RESOURCE, &message).await;
    }
    let help = failure.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    wire.refuse(id, FAILED, &format!("{}{help}", failure.message)).await;
}
