//! The outcome of an attempt from the end of its child run.

use super::roll_up::RollUp;
use super::{Executed, Shared, unusable};
use kb_attempt::{Context, Outcome};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, JsonMap, Money, OutcomeKind, RunId, Usage};
use kb_core::run::{Event, Rules, RunStatus, StepStatus};
use kb_engine::engine::{Folded, Payloads, Summary};
use kb_engine::inspect::Frozen;
use kb_language::plan::Plan;
use std::sync::Arc;

const HIGHER_BUDGET: &str = "waits for a higher budget";

impl Shared {
    /// The outcome of a driven child run.
    pub(super) fn outcome(
        &self,
        summary: &Summary,
        plan: &Arc<Plan>,
        context: &Context,
        reported: Usage,
    ) -> Executed<Outcome> {
        let (run, usage) = (&summary.run, added(summary.usage, reported));
        let outcome = match summary.status {
            RunStatus::Succeeded => match &summary.outputs {
                Some(outputs) => {
                    let payloads = Payloads::new(self.journal.clone());
                    Outcome::ok((*payloads.load(outputs).map_err(unusable)?).clone())
                }
                None => Outcome::ok(Json::Object(JsonMap::new())),
            },
            RunStatus::Waiting => {
                return Ok(Outcome::waiting(self.what_it_waits_for(run, plan)));
            }
            RunStatus::Interrupted | RunStatus::Running => {
                return Ok(Outcome::waiting(format!("child run {run} was interrupted")));
            }
            RunStatus::Cancelled if context.cancel.is_cancelled() => {
                let message = format!("child run `{run}` was cancelled");
                let failure = Failure::new(Code::CHILD_RUN_FAILED, message);
                Outcome::failed(OutcomeKind::Cancelled, failure)
            }
            status @ (RunStatus::Failed | RunStatus::Cancelled) => {
                let failure = self.failure_of(summary, plan, status);
                Outcome::failed(OutcomeKind::ToolError, failure)
            }
        };
        Ok(Outcome { usage, ..outcome })
    }

    /// What a waiting child run waits for, as human-readable text: a person, or a higher budget.
    fn what_it_waits_for(&self, run: &RunId, plan: &Arc<Plan>) -> String {
        let events = self.journal.events(run, 0).unwrap_or_default();
        let rules = Rules { max_parallel: 1, undecided: self.undecided, ..Rules::default() };
        let state = Folded::of(plan, rules, &events).state;
        let waiting = || state.instances().filter(|(_, own)| own.status == StepStatus::Waiting);
        let person = format!("child run {run} waits for a person");
        if waiting().any(|(ix, own)| state.waits_for_person(plan, ix) && !own.needs_budget()) {
            return person;
        }
        let exhausted = waiting().find(|(_, own)| own.needs_budget());
        if let Some(failure) = exhausted.and_then(|(_, own)| own.failure()) {
            return format!(
                "child run {run} {HIGHER_BUDGET}: {} [{}]",
                failure.message, failure.code
            );
        }
        // A child run of the child run waits.
        let below = events.iter().rev().find_map(|stored| match &*stored.event {
            Event::Waiting { reason, .. } if reason.contains(HIGHER_BUDGET) => Some(reason.clone()),
            _ => None,
        });
        below.unwrap_or(person)
    }

    /// The outcome of a child run that succeeded while its parent did not run.
    pub(super) fn outcome_of_ended(
        &self,
        run: &RunId,
        plan: &Arc<Plan>,
        reported: Usage,
    ) -> Executed<Outcome> {
        let frozen = Frozen::of_run(&*self.journal, run)
            .map_err(|error| Box::new(Failure::new(Code::JOURNAL_UNUSABLE, error.to_string())))?;
        let events = self.journal.events(run, 0).map_err(unusable)?;
        let state = Folded::of(plan, frozen.rules(self.undecided), &events).state;
        let usage = added(state.usage(), reported);
        let output = match state.outputs() {
            Some(outputs) => {
                let payloads = Payloads::new(self.journal.clone());
                (*payloads.load(outputs).map_err(unusable)?).clone()
            }
            None => Json::Object(JsonMap::new()),
        };
        Ok(Outcome { usage, ..Outcome::ok(output) })
    }

    /// The verdicts and file changes of a child run that ended.
    pub(super) fn roll_up(&self, run: &RunId, plan: &Arc<Plan>) -> Executed<RollUp> {
        let events = self.journal.events(run, 0).map_err(unusable)?;
        let rules = Rules { max_parallel: 1, undecided: self.undecided, ..Rules::default() };
        let state = Folded::of(plan, rules, &events).state;
        Ok(RollUp::of(plan, &state, &events))
    }

    /// The failure of a child run, with its first failed step.
    fn failure_of(&self, summary: &Summary, plan: &Arc<Plan>, status: RunStatus) -> Failure {
        let (run, id) = (&summary.run, &plan.playbook().id);
        let (reason, help) = match &summary.failure {
            Some(failure) => (Some(format!("{} [{}]", failure.message, failure.code)), None),
            None => self.first_failed_step(run, plan).unzip(),
        };
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let help = help.flatten().map(|help| format!("{help}. ")).unwrap_or_default();
        let what = if status == RunStatus::Cancelled { "was cancelled" } else { "failed" };
        let message = format!("child run `{run}` of `{id}` {what}{reason}");
        Failure::new(Code::CHILD_RUN_FAILED, message)
            .help(format!("{help}`kb run logs {run}` shows what happened"))
    }

    /// What the first failed step says, and its help.
    fn first_failed_step(&self, run: &RunId, plan: &Arc<Plan>) -> Option<(String, Option<String>)> {
        let events = self.journal.events(run, 0).ok()?;
        let rules = Rules { max_parallel: 1, undecided: self.undecided, ..Rules::default() };
        let state = Folded::of(plan, rules, &events).state;
        let failed = state
            .instances()
            .filter(|(_, instance)| instance.status == StepStatus::Failed && !instance.tolerated);
        let (ix, instance) = failed.min_by_key(|(_, instance)| instance.ended_at())?;
        let step = state.key(plan, ix);
        let Some(failure) = instance.failure() else {
            return Some((format!("step `{step}`"), None));
        };
        let help = failure.help.as_ref().map(|help| format!("step `{step}`: {help}"));
        Some((format!("step `{step}`: {} [{}]", failure.message, failure.code), help))
    }
}

/// The usage of a child run without the part that earlier attempts reported.
fn added(total: Usage, reported: Usage) -> Usage {
    Usage {
        prompt_tokens: total.prompt_tokens.saturating_sub(reported.prompt_tokens),
        completion_tokens: total.completion_tokens.saturating_sub(reported.completion_tokens),
        cached_tokens: total.cached_tokens.saturating_sub(reported.cached_tokens),
        cache_write_tokens: total.cache_write_tokens.saturating_sub(reported.cache_write_tokens),
        reasoning_tokens: total.reasoning_tokens.saturating_sub(reported.reasoning_tokens),
        cost_usd: total.cost_usd.zip(reported.cost_usd).map(|(a, b)| Money(a.0 - b.0)),
        model_calls: total.model_calls.saturating_sub(reported.model_calls),
        tool_calls: total.tool_calls.saturating_sub(reported.tool_calls),
    }
}
