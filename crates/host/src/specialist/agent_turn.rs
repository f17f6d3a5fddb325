//! One turn of a coding agent: the prompt, what it tells and asks meanwhile, and its last message as the response.

use super::agent_heard::Heard;
use super::agent_homes::AgentHome;
use super::agent_prompt::{self, Seen};
use super::open_agent::{AgentWork, Interrupted, OpenAgent, Worker};
use super::prompt_record::model_call;
use super::report::StopReason;
use super::runner::Attempt;
use super::turn::Turn;
use crate::agent::{AgentFault, AgentSession, TurnStop, Wire};
use crate::llm::{ChatReply, ChatRequest, Message, ModelRef};
use crate::tool::AgentStart;
use kb_attempt::{Progress, run_blocking};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, Money, OutcomeKind, Timestamp};
use kb_core::evidence::{Approach, Note, Payload, Record};
use kb_language::definition::{CodingAgent, ServerValue};
use std::time::Duration;

/// How long an agent may take to end a turn that was cancelled.
const GRACE: Duration = Duration::from_secs(2);
/// Milliseconds of a minute.
const MINUTE: i64 = 60_000;

impl Attempt<'_> {
    /// Lets the agent work until its turn ends.
    pub(super) async fn ask_agent(
        &mut self,
        turn: Turn,
        agent: &CodingAgent,
    ) -> Result<(), StopReason> {
        self.note_repair(turn).await?;
        self.agent_turn = self.conversation.turns() + 1;
        if self.secrets.is_none() {
            return self.play_turn(turn, agent).await;
        }
        let ended = self.work_with_agent(turn, agent).await;
        self.keep_stop(&ended);
        ended
    }

    async fn work_with_agent(&mut self, turn: Turn, agent: &CodingAgent) -> Result<(), StopReason> {
        let mut seen = Seen::ToLastAnswer;
        if self.open.is_none() {
            let open = self.start_agent(agent).await?;
            seen = if open.session.is_loaded { Seen::EarlierSession } else { Seen::Nothing };
            self.open = Some(open);
        }
        let mut request = self.agent_request(turn, agent, seen);
        let reserved = tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => return Err(StopReason::Cancelled),
            reserved = self.reserve(&mut request) => reserved?,
        };
        let Some(mut open) = self.open.take() else { return Err(StopReason::Cancelled) };
        let reply = self.take_turn(&mut open, agent, &request).await;
        self.open = Some(open);
        self.settle(reserved, &reply).await?;
        let reply = reply?;
        self.keep_reply(&request, &reply, seen);
        self.record(model_call(&request, reply, Vec::new())).await
    }

    pub(super) fn agent_request(&self, turn: Turn, agent: &CodingAgent, seen: Seen) -> ChatRequest {
        let prompt = agent_prompt::of_turn(&self.conversation, turn.mode, seen, self.work);
        ChatRequest {
            model: ModelRef { name: agent.name.clone(), tier: None },
            messages: vec![Message::User(prompt)],
            tools: Vec::new(),
            response_schema: None,
            temperature: None,
            max_tokens: None,
            reasoning: None,
            timeout: self.work.specialist.limits.timeout,
            origin: self.agent_origin(),
        }
    }

    async fn start_agent(&mut self, agent: &CodingAgent) -> Result<OpenAgent, StopReason> {
        let specialist = self.work.specialist.clone();
        let mut env = self.agent_env(agent).await?;
        agent.switch_tools_off(&mut env);
        env.extend(self.request.env.iter().cloned());
        env.extend(self.request.identity());
        let home = self.homes.as_ref();
        let home = home.and_then(|homes| run_blocking(|| homes.home(self.request, &agent.argv)));
        let start = AgentStart {
            specialist: specialist.id.to_string(),
            argv: agent.argv.clone(),
            env,
            cwd: self.request.cwd.clone(),
            network: specialist.network,
            has_secret: agent.env.iter().any(|(_, value)| matches!(value, ServerValue::Secret(_))),
            tools: agent.tools,
            writes: specialist.agent_writes(),
            evidence: self.request.evidence,
            home: home.as_ref().map(AgentHome::path),
        };
        let before = home.as_ref().filter(|_| self.goes_on()).and_then(AgentHome::session);
        if let Some((_, since)) = before.as_ref().filter(|_| agent.loses_new_sessions()) {
            self.wait_for_next_minute(*since).await?;
        }
        self.context.recorder.progress(Progress::Model(agent.name.clone()));
        let (since, began) = (self.clock.now(), kb_clock::instant());
        let toolset = self.toolset.clone();
        let started = toolset.start_agent(start, &self.context.cancel).await;
        let (session, process) = started.map_err(|failure| refused(failure, agent))?;
        let (cwd, offer) = (process.cwd.clone(), self.tool_offer(agent, &process));
        let before = before.map(|(id, _)| id);
        let opened = tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => return Err(StopReason::Cancelled),
            _woken = self.deadline.passed() => return Err(StopReason::TimedOut),
            opened = AgentSession::open(session, agent, &cwd, offer, before) => opened,
        };
        let session = opened.map_err(|fault| stopped(&fault, agent, false))?;
        if let Some(home) = home.filter(|_| !session.is_loaded) {
            run_blocking(|| home.keep(session.wire.id(), self.clock.now()));
        }
        if let Some(why) = &session.not_loaded {
            let text = format!("the agent `{}` does not continue its session: {why}", agent.name);
            self.record(Record::Note(Note::warning(text))).await?;
        }
        let goes_on =
            if session.is_loaded { "has started and continues its session" } else { "has started" };
        let text = format!("the agent `{}` {goes_on}: {}", agent.name, agent.argv.join(" "));
        self.record(Record::Note(Note::info(text))).await?;
        let worker = Worker { process, work: AgentWork::begin(agent, since), cost: None };
        Ok(OpenAgent { session, worker, began, counted: Money::ZERO })
    }

    /// Whether the attempt continues with what the session of an earlier one began: it was interrupted, or its gate asks for
    /// corrections. An attempt that takes another approach has a session of its own.
    pub(super) fn goes_on(&self) -> bool {
        let feedback = self.work.feedback.as_ref();
        let corrects = feedback.is_some_and(|own| own.approach != Approach::Another);
        corrects || !self.work.history.is_empty()
    }

    /// Waits until the minute of this time is over.
    async fn wait_for_next_minute(&mut self, since: Timestamp) -> Result<(), StopReason> {
        let Some(wait) = rest_of_minute(since, self.clock.now()) else { return Ok(()) };
        let text = format!(
            "waiting {} s: the agent would lose a session that it loads in the minute in which it began",
            wait.as_secs()
        );
        self.record(Record::Note(Note::info(text))).await?;
        tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => Err(StopReason::Cancelled),
            _woken = self.deadline.passed() => Err(StopReason::TimedOut),
            () = self.clock.sleep(wait) => Ok(()),
        }
    }

    /// The values of the variables of the agent.
    async fn agent_env(&self, agent: &CodingAgent) -> Result<Vec<(String, String)>, StopReason> {
        let mut env = Vec::new();
        for (name, value) in &agent.env {
            let value = match (value, &self.secrets) {
                (ServerValue::Text(text), _) => text.clone(),
                (ServerValue::Secret(reference), Some(secrets)) => {
                    let value = secrets(reference.clone()).await;
                    value.map_err(|failure| StopReason::Agent(OutcomeKind::ToolError, failure))?
                }
                (ServerValue::Secret(_), None) => continue,
            };
            env.push((name.clone(), value));
        }
        Ok(env)
    }

    async fn take_turn(
        &mut self,
        open: &mut OpenAgent,
        agent: &CodingAgent,
        request: &ChatRequest,
    ) -> Result<ChatReply, StopReason> {
        let prompt = match request.messages.first() {
            Some(Message::User(prompt)) => prompt.as_str(),
            _ => "",
        };
        let mut heard = Heard::default();
        let listened = self.listen(open, prompt, &mut heard).await;
        let end = match listened {
            Ok(end) => end,
            Err(Interrupted::Fault(fault)) => return Err(stopped(&fault, agent, true)),
            Err(Interrupted::Stop(stop)) => return Err(stop),
        };
        self.close_reports(&mut heard).await?;
        if end.stop == TurnStop::Cancelled {
            let fault = AgentFault::Stopped("it says that it was cancelled".to_owned());
            return Err(stopped(&fault, agent, true));
        }
        let mut usage = end.usage;
        usage.cost_usd = open.worker.cost.map(|cost| {
            let spent = Money((cost.0 - open.counted.0).max(0));
            open.counted = cost;
            spent
        });
        Ok(ChatReply {
            text: heard.last_message(),
            calls: Vec::new(),
            usage,
            model: agent.name.clone(),
            cut_short: end.stop == TurnStop::CutOff,
            submitted: None,
            reasoning: None,
        })
    }

    /// Listens to the agent until its turn ends. If the attempt ends before, the agent is asked to stop.
    async fn listen(
        &mut self,
        open: &mut OpenAgent,
        prompt: &str,
        heard: &mut Heard,
    ) -> Result<crate::agent::TurnEnd, Interrupted> {
        let OpenAgent { session: AgentSession { wire, events, .. }, worker, .. } = open;
        let wire: &Wire = wire;
        let mut turn = std::pin::pin!(wire.prompt(prompt));
        let mut hears = true;
        let interrupted = loop {
            tokio::select! {
                biased;
                () = self.context.cancel.cancelled() => break StopReason::Cancelled,
                _woken = self.deadline.passed() => break StopReason::TimedOut,
                event = events.recv(), if hears => match event {
                    // What it says before the end of its turn comes first.
                    Some(event) => match self.hear(event, heard, wire, worker).await {
                        Ok(()) => {}
                        Err(Interrupted::Stop(stop)) => break stop,
                        Err(fault) => return Err(fault),
                    },
                    None => hears = false,
                },
                end = &mut turn => {
                    let end = end.map_err(Interrupted::Fault)?;
                    while let Ok(event) = events.try_recv() {
                        self.hear(event, heard, wire, worker).await?;
                    }
                    return Ok(end);
                }
            }
        };
        wire.cancel().await;
        let rest = async {
            loop {
                tokio::select! {
                    _end = &mut turn => return,
                    event = events.recv() => if event.is_none() { return },
                }
            }
        };
        // It is ended if it does not end by itself.
        let _ = tokio::time::timeout(GRACE, rest).await;
        Err(Interrupted::Stop(interrupted))
    }

    /// Records what the agent changed by itself before `kb` changes something for it, so that the record has their order.
    pub(super) async fn record_own_changes(
        &mut self,
        worker: &mut Worker,
    ) -> Result<(), StopReason> {
        let Some(changes) = worker.process.changes_so_far().await else { return Ok(()) };
        self.keep_changes(&changes);
        let invocation = worker.work.invocation(self.request.attempt, self.clock.now(), changes);
        let (turn, result) = (self.turn_of_call(), Payload::inline(Json::Null));
        self.record(Record::ToolResult { turn, invocation, result }).await
    }

    /// Ends the process of the agent and records what it changed, whatever the attempt came to.
    pub(super) async fn close_agent(
        &mut self,
        ended: Result<(), StopReason>,
    ) -> Result<(), StopReason> {
        let Some(open) = self.open.take() else { return self.close_played(ended).await };
        let OpenAgent { session, mut worker, began, .. } = open;
        let exited = match session.end().await {
            Ok(exited) => exited,
            // Its descendants have ended with it.
            Err(_) => kb_process::ProcessResult::unknown(began.elapsed()),
        };
        let (attempt, now) = (self.request.attempt, self.clock.now());
        let mut invocation = worker.work.invocation(attempt, now, Vec::new());
        let end = worker.process.end(exited).await;
        self.keep_changes(&end.changes);
        invocation.changes = end.changes;
        invocation.process = Some(Box::new(end.process));
        let result = Payload::inline(Json::Null);
        let record = Record::ToolResult { turn: self.turn_of_call(), invocation, result };
        let stored = self.context.recorder.record(record.clone()).await;
        run_blocking(|| self.conversation.apply(&record));
        match (end.failure, stored) {
            (Some(failure), _) => Err(StopReason::ProtectedPathsChanged(failure)),
            (None, Err(_)) => ended.and(Err(StopReason::Cancelled)),
            (None, Ok(())) => ended,
        }
    }
}

/// How long the minute of a time still takes; `None` if it is over.
fn rest_of_minute(since: Timestamp, now: Timestamp) -> Option<Duration> {
    let next = (since.0 / MINUTE + 1) * MINUTE;
    (now.0 < next).then(|| Duration::from_millis((next - now.0).clamp(0, MINUTE) as u64))
}

fn stopped(fault: &AgentFault, agent: &CodingAgent, is_open: bool) -> StopReason {
    StopReason::Agent(OutcomeKind::ToolError, fault.failure(agent, is_open))
}

/// The reason for an agent that must not start, or did not.
fn refused(failure: Failure, agent: &CodingAgent) -> StopReason {
    if failure.help.is_some() || failure.code != Code::AGENT_NOT_STARTED {
        return StopReason::Agent(OutcomeKind::PolicyDenied, failure);
    }
    let why = failure.message.trim_start_matches("did not start: ").to_owned();
    let fault = AgentFault::Over(kb_jsonrpc::Fault::NotStarted(why));
    stopped(&fault, agent, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_loaded_after_the_minute_in_which_it_began() {
        let wait = |since, now| rest_of_minute(Timestamp(since), Timestamp(now));
        assert_eq!(wait(MINUTE + 1_000, MINUTE + 15_000), Some(Duration::from_secs(45)));
        assert_eq!(wait(MINUTE + 59_999, 2 * MINUTE), None);
        assert_eq!(wait(MINUTE + 1_000, 9 * MINUTE), None);
        // The clock was set back.
        assert_eq!(wait(9 * MINUTE, MINUTE), Some(Duration::from_secs(60)));
    }
}
