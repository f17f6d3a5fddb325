//! [`SpecialistRunner`]: drives one attempt until it has an output or a reason to stop.

use super::agent_homes::AgentHomes;
use super::agent_prompt;
use super::brief::Brief;
use super::context::ContextLimits;
use super::conversation::Conversation;
use super::input_budget::{self, FittedInput};
use super::ledger::Ledger;
use super::open_agent::{OpenAgent, PlayedAgent};
use super::origin::origin;
use super::prompt;
use super::related;
use super::report::{self, StopReason};
use super::submit::Submission;
use super::toolset::ToolSet;
use super::turn::Next;
use crate::llm::{CallOrigin, ModelProvider, ModelRef, ToolDescription};
use crate::tool::ServerSecrets;
use kb_attempt::{Context, Outcome, Request, SpecialistWork, run_blocking};
use kb_base::value::{StepId, json_text};
use kb_clock::{Limit, RunClock};
use kb_core::evidence::{Note, Phase, Record};
use kb_language::definition::{
    CodingAgent, ContextProfile, JudgeCheck, LoopLimits, Reasoning, Specialist,
};
use kb_language::toolspec::{ARTIFACT_READER, OUTPUT_READER};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Runs attempts of specialists.
#[derive(Clone)]
pub struct SpecialistRunner {
    /// The provider of model calls.
    pub provider: Arc<dyn ModelProvider>,
    /// The tools, with their policy.
    pub toolbox: Arc<dyn ToolSet>,
    /// Maximum tokens of the values in one prompt (`llm.maxInputTokens`).
    pub max_input_tokens: u32,
    /// The values of the variables of coding agents; `None`: none is started, because a script takes their place.
    pub agents: Option<ServerSecrets>,
    /// The home folders of coding agents; `None`: temporary ones, without sessions of before.
    pub homes: Option<AgentHomes>,
    /// `llm.context`: what of a conversation models see.
    pub context: Option<ContextProfile>,
    /// `llm.reasoning`: how long models reason.
    pub reasoning: Option<Reasoning>,
    /// `verifier.judge` of the settings.
    pub judge: JudgeCheck,
    /// Steps for which a warning about truncated values was recorded.
    pub warned: Arc<Mutex<BTreeSet<StepId>>>,
    /// Budgets of the run; the default limits nothing.
    pub ledger: Arc<Ledger>,
    /// The time of the run.
    pub clock: RunClock,
}

impl SpecialistRunner {
    /// Runs one attempt, from its first turn or after the last record in `work.history`. It never
    /// panics and always ends: with an output, at a limit, at the timeout of the specialist (which
    /// restarts on a resume), or when `context.cancel` is cancelled. The caller enforces the timeout
    /// and idle timeout of the step.
    pub async fn run(
        &self,
        request: &Request,
        work: &SpecialistWork,
        context: &Context,
    ) -> Outcome {
        // A coding agent could not read on.
        let is_agent = self.agent_of(request, work).is_some();
        let most = if is_agent { u32::MAX } else { self.max_input_tokens };
        let fitted = input_budget::fit(work, most);
        let rules = work.specialist.security.as_deref();
        let (limit, recorder) = (limit(request, work), context.recorder.clone());
        let toolset = self.toolbox.for_attempt(limit, request.idle, rules, recorder);
        let related = related::section(work, &*toolset, &context.cancel).await;
        let mut attempt = Attempt::begin(self, request, work, context, &fitted, toolset);
        let mut ended = Ok(());
        match related {
            Ok(Some(section)) => attempt.conversation.add_to_task(&section),
            Ok(None) => {}
            Err(why) if work.history.is_empty() => {
                let warning = format!("`context.rag` adds nothing to the prompt: {why}");
                ended = attempt.record(Record::Note(Note::warning(warning))).await;
            }
            Err(_) => {}
        }
        if let Some(warning) = self.warning(request, work, &fitted).filter(|_| ended.is_ok()) {
            ended = attempt.record(Record::Note(Note::warning(warning))).await;
        }
        if ended.is_ok() {
            ended = attempt.note_lost_call().await;
        }
        if ended.is_ok() {
            ended = attempt.recall().await;
        }
        if ended.is_ok() {
            ended = attempt.summarise_history().await;
        }
        if ended.is_ok() {
            ended = attempt.may_be_judged(&self.judge);
        }
        if ended.is_ok() {
            ended = attempt.drive().await;
        }
        ended = attempt.close_agent(ended).await;
        if ended.is_ok() {
            run_blocking(|| attempt.toolset.confirm_memory());
        }
        attempt.outcome(ended)
    }

    /// The coding agent that does the work, or whose recorded turns are done again. A script of a model takes its place.
    fn agent_of(&self, request: &Request, work: &SpecialistWork) -> Option<Arc<CodingAgent>> {
        let origin = CallOrigin { place: request.place(), turn: 1, params: work.params.clone() };
        let works = |_: &Arc<CodingAgent>| {
            self.agents.is_some() || self.provider.played_events(&origin).is_some()
        };
        work.specialist.agent.clone().filter(works)
    }

    /// Maximum tool calls of an attempt: of the specialist and of `global_limits`, whichever is lower.
    fn tool_calls(&self, specialist: &Specialist) -> u32 {
        let global = specialist.global.tool_calls.unwrap_or(u32::MAX);
        specialist.limits.max_tool_calls.min(global).min(self.ledger.tool_calls_per_attempt())
    }

    /// What of the conversation the model of a specialist sees.
    fn context_limits(&self, specialist: &Specialist) -> ContextLimits {
        let choice = &specialist.model;
        // The fallback model may have a smaller window.
        let named =
            [choice.model.as_deref()].into_iter().chain(choice.fallback.as_deref().map(Some));
        let models = named.filter_map(|name| self.provider.resolve(choice.tier, name).ok());
        let windows = models.map(|model| self.provider.limits(&model).window);
        let window = windows.reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b))).flatten();
        ContextLimits::of(specialist.context.or(self.context), window)
    }

    /// The warning about truncated values, once for each step.
    fn warning(
        &self,
        request: &Request,
        work: &SpecialistWork,
        fitted: &FittedInput,
    ) -> Option<String> {
        // A resumed attempt has recorded the warning already.
        if fitted.previews.is_empty() || !work.history.is_empty() {
            return None;
        }
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if !warned.insert(request.instance.step.clone()) {
            return None;
        }
        let values: Vec<String> = fitted
            .previews
            .iter()
            .map(|value| {
                format!("`{}` ({} characters)", value.reference, value.text.chars().count())
            })
            .collect();
        Some(format!(
            "the values of the prompt exceed {} tokens (`llm.maxInputTokens`), so the \
             model gets a preview of {}",
            self.max_input_tokens,
            values.join(", ")
        ))
    }
}

/// The state of a running attempt.
pub(super) struct Attempt<'a> {
    pub(super) provider: &'a dyn ModelProvider,
    pub(super) toolset: Arc<dyn ToolSet>,
    pub(super) request: &'a Request,
    pub(super) work: &'a SpecialistWork,
    pub(super) context: &'a Context,
    pub(super) tools: Vec<ToolDescription>,
    pub(super) allow_list: Vec<String>,
    pub(super) conversation: Conversation,
    pub(super) model: Option<ModelRef>,
    /// The coding agent that does the work.
    pub(super) agent: Option<Arc<CodingAgent>>,
    pub(super) secrets: Option<ServerSecrets>,
    pub(super) homes: Option<AgentHomes>,
    /// Its process, once it was started.
    pub(super) open: Option<OpenAgent>,
    /// What is done in its place, once a recorded turn was played.
    pub(super) played: Option<PlayedAgent>,
    /// The turn that the agent has or had last.
    pub(super) agent_turn: u32,
    pub(super) fell_back: bool,
    /// `llm.reasoning` of the settings.
    pub(super) reasoning: Option<Reasoning>,
    /// Maximum tokens of a response in the last request.
    pub(super) response_limit: Option<u32>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) clock: &'a RunClock,
    pub(super) deadline: Limit,
}

impl<'a> Attempt<'a> {
    fn begin(
        runner: &'a SpecialistRunner,
        request: &'a Request,
        work: &'a SpecialistWork,
        context: &'a Context,
        fitted: &FittedInput,
        toolset: Arc<dyn ToolSet>,
    ) -> Self {
        let specialist = &*work.specialist;
        let agent = runner.agent_of(request, work);
        toolset.begin_memory(origin(request, work));
        let allow_list: Vec<String> = specialist.tools.iter().map(ToString::to_string).collect();
        let mut tools = toolset.describe(&allow_list);
        if !fitted.previews.is_empty() && tools.is_empty() {
            tools.extend(toolset.reader(OUTPUT_READER));
        }
        let artifacts = work.session.iter().flat_map(|session| &session.artifacts);
        for (n, (id, content)) in artifacts.enumerate() {
            if n == 0 {
                tools.extend(toolset.reader(ARTIFACT_READER));
            }
            toolset.keep_artifact(id, &json_text(content));
        }
        for value in &fitted.previews {
            toolset.keep(&value.reference, &value.text);
        }
        let submission =
            Submission::new(work.output_schema.as_ref(), specialist.output_schema.as_ref());
        let submission = if work.hands_over { submission.with_handoff() } else { submission };
        let submission = if agent.is_some() { submission.of_agent() } else { submission };
        let context_limits = runner.context_limits(specialist);
        toolset.show(context_limits.read_on_chars());
        let mut conversation = Conversation::begin(Brief {
            attempt: request.attempt,
            system: match &agent {
                Some(agent) => agent_prompt::system(specialist, agent.tools, &submission),
                None => prompt::system(specialist, &tools, &submission, &context_limits),
            },
            task: prompt::task(work, fitted),
            session: work.session.clone(),
            tools: tools.iter().map(|tool| tool.name.clone()).collect(),
            catalog: toolset.tools().clone(),
            limits: LoopLimits {
                max_tool_calls: runner.tool_calls(specialist),
                ..specialist.limits
            },
            context: context_limits,
            submission,
        });
        for record in &work.history {
            conversation.apply(record);
            keep(&*toolset, record);
        }
        Attempt {
            provider: &*runner.provider,
            toolset,
            request,
            work,
            context,
            tools,
            allow_list,
            conversation,
            model: None,
            agent,
            secrets: runner.agents.clone(),
            homes: runner.homes.clone(),
            open: None,
            played: None,
            agent_turn: 0,
            fell_back: false,
            reasoning: runner.reasoning,
            response_limit: None,
            ledger: runner.ledger.clone(),
            clock: &runner.clock,
            deadline: Limit::of(&runner.clock, specialist.limits.timeout),
        }
    }

    async fn drive(&mut self) -> Result<(), StopReason> {
        loop {
            if self.context.cancel.is_cancelled() {
                return Err(StopReason::Cancelled);
            }
            match self.conversation.next() {
                Next::Done => return Ok(()),
                Next::Fail(why) => return Err(StopReason::GaveUp(why)),
                _ if self.deadline.is_over() => return Err(StopReason::TimedOut),
                Next::CallModel(turn) => match self.agent.clone() {
                    Some(agent) => self.ask_agent(turn, &agent).await?,
                    None => self.call_model(turn).await?,
                },
                Next::CallTool => self.call_tools().await?,
                Next::Recover => self.call_tool().await?,
                Next::Enter(phase) => self.enter(phase).await?,
                Next::Compress => self.compress().await?,
                // `Conversation::apply` performs these itself.
                Next::Validate | Next::Decline => {}
            }
        }
    }

    async fn compress(&mut self) -> Result<(), StopReason> {
        let record = self.conversation.compression();
        self.record(record).await
    }

    async fn enter(&mut self, phase: Phase) -> Result<(), StopReason> {
        let record = self.conversation.entering(phase);
        self.record(record).await
    }

    /// Stores the record, then applies it: a record that is not stored has no consequences.
    pub(super) async fn record(&mut self, record: Record) -> Result<(), StopReason> {
        let stored = self.context.recorder.record(record.clone()).await;
        stored.map_err(|_| StopReason::Cancelled)?;
        run_blocking(|| self.conversation.apply(&record));
        Ok(())
    }

    fn outcome(&self, ended: Result<(), StopReason>) -> Outcome {
        let specialist = &*self.work.specialist;
        let report =
            |why: &_| report::outcome(why, &self.conversation, specialist, self.response_limit);
        match (ended, self.conversation.output()) {
            (Ok(()), Some(output)) => {
                let handoff = Some(Box::new(self.conversation.handoff()));
                Outcome { usage: self.conversation.usage(), handoff, ..Outcome::ok(output.clone()) }
            }
            (Ok(()), None) => report(&StopReason::Cancelled),
            (Err(end), _) => report(&end),
        }
    }
}

/// The timeout of one process of the attempt.
fn limit(request: &Request, work: &SpecialistWork) -> Duration {
    let own = work.specialist.limits.timeout;
    request.timeout.map_or(own, |timeout| timeout.min(own))
}

/// Makes results from before a resume available to `output:read`.
fn keep(toolset: &dyn ToolSet, record: &Record) {
    if let Record::ToolResult { invocation, result, .. } = record
        && let Some(result) = result.as_inline()
    {
        toolset.keep(&invocation.id, &json_text(result));
    }
}
