//! The numbers of steps and items of a run, and its usage, for the header of the live display.

use super::quantity::{cost, grouped};
use kb_core::wire::{Body, Event, StepStatus, UsageView};
use std::collections::{BTreeMap, BTreeSet};

/// The progress of a run, folded from its events. Items count in place of their `forEach` step.
#[derive(Debug, Default)]
pub(in crate::cli) struct RunCounts {
    /// Number of steps of the plan.
    steps: usize,
    /// Number of items of each expanded step.
    expanded: BTreeMap<String, usize>,
    ended: BTreeMap<String, StepStatus>,
    waiting: BTreeSet<String>,
    /// Steps that wait or waited for a time.
    timed: BTreeSet<String>,
    running: BTreeSet<String>,
    usage: UsageView,
}

impl RunCounts {
    pub(super) fn new(steps: usize) -> RunCounts {
        let usage = UsageView { cost_usd: Some(0.0), ..UsageView::default() };
        RunCounts { steps, usage, ..RunCounts::default() }
    }

    /// Adds the next event.
    pub(in crate::cli) fn add(&mut self, event: &Event) {
        let name = event.place.as_ref().map(|p| p.instance.to_string()).unwrap_or_default();
        match &event.body {
            Body::StepExpanded { count, .. } => drop(self.expanded.insert(name, *count)),
            Body::StepStart { .. } => {
                self.waiting.remove(&name);
                self.running.insert(name);
            }
            Body::AttemptEnd { .. } => drop(self.running.remove(&name)),
            Body::StepWaiting { until, .. } => {
                self.running.remove(&name);
                self.set_timed(&name, until.is_some());
                self.waiting.insert(name);
            }
            Body::AskOpened(asked) => self.set_timed(&name, asked.until.is_some()),
            Body::AskAnswered { .. } => drop(self.waiting.remove(&name)),
            Body::StepEnd { status, .. } => {
                self.waiting.remove(&name);
                self.running.remove(&name);
                self.ended.insert(name, *status);
            }
            Body::StepReset { closure, .. } => closure.iter().for_each(|name| self.reset(name)),
            Body::RunResume { .. } => self.running.clear(),
            Body::ModelCall { usage, .. } => {
                self.usage.prompt_tokens += usage.prompt_tokens;
                self.usage.completion_tokens += usage.completion_tokens;
                self.usage.model_calls += 1;
                self.usage.cost_usd = self.usage.cost_usd.zip(usage.cost_usd).map(|(a, b)| a + b);
            }
            _ => {}
        }
    }

    fn set_timed(&mut self, name: &str, timed: bool) {
        if timed {
            self.timed.insert(name.to_owned());
        } else {
            self.timed.remove(name);
        }
    }

    /// Whether a step waits for a time, so that a process continues to drive the run.
    pub(in crate::cli) fn waits_for_time(&self) -> bool {
        self.timed.iter().any(|name| self.waiting.contains(name))
    }

    fn reset(&mut self, name: &str) {
        self.ended.remove(name);
        if self.expanded.remove(name).is_some() {
            let items = format!("{name}[");
            self.ended.retain(|instance, _| !instance.starts_with(&items));
        }
    }

    /// Whether no step runs, and at least one waits.
    pub(in crate::cli) fn only_waits(&self) -> bool {
        self.running.is_empty() && !self.waiting.is_empty()
    }

    /// Whether no step runs, at least one waits, and all that wait are of a kind.
    pub(in crate::cli) fn only_waits_for(&self, is: impl Fn(&str) -> bool) -> bool {
        self.only_waits() && self.waiting.iter().all(|step| is(step))
    }

    /// Such as `7/20 done · 2 running · 1 failed`.
    pub(super) fn text(&self) -> String {
        let total = self.steps + self.expanded.values().sum::<usize>() - self.expanded.len();
        let ended = || self.ended.iter().filter(|(name, _)| !self.expanded.contains_key(*name));
        let failed = ended().filter(|(_, status)| **status == StepStatus::Failed).count();
        let parts = [
            (self.running.len(), StepStatus::Running),
            (self.waiting.len(), StepStatus::Waiting),
            (failed, StepStatus::Failed),
        ];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let done = ended().filter(|(_, status)| status.is_done()).count();
        let done = format!("{done}/{total} done");
        let all: Vec<String> =
            std::iter::once(done).chain(parts.map(|(n, status)| format!("{n} {status}"))).collect();
        all.join(" · ")
    }

    /// Tokens and cost so far; `None` without model calls.
    pub(super) fn spent(&self) -> Option<String> {
        let tokens = self.usage.prompt_tokens + self.usage.completion_tokens;
        (self.usage.model_calls > 0)
            .then(|| format!("{} tokens  {}", grouped(tokens), cost(&self.usage)))
    }
}
