//! The totals of a run, collected from its events.

use super::assessment::assessment_text;
use super::event_line::{evidence_text, stdout_truncated};
use super::failure::{self, Failed, LastAttempt};
use super::next::OpenQuestion;
use kb_base::diagnostic::Severity;
use kb_base::value::{Json, Timestamp, counted};
use kb_core::wire::{
    Body, ChangeKind, CheckView, ErrorView, Event, QuestionKind, RunStatus, StepStatus, UsageView,
    Verdict, VerdictsView,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The totals of a run's events, for the summary.
#[derive(Debug, Default)]
pub(in crate::cli) struct RunSummary {
    /// Id of the definition.
    pub(in crate::cli) definition: String,
    /// Start of the process that drove the run last: time of its first event.
    pub(in crate::cli) began: Option<Timestamp>,
    /// Time of the last event.
    pub(in crate::cli) last: Option<Timestamp>,
    /// Time that earlier processes drove the run.
    pub(in crate::cli) earlier: Duration,
    /// Verdicts of each step instance, in order.
    pub(in crate::cli) verdicts: BTreeMap<String, Vec<Verdict>>,
    /// Reason of the last verdict of each step instance that did not pass.
    pub(in crate::cli) reasons: BTreeMap<String, String>,
    /// What the last judge of each step instance found.
    pub(in crate::cli) assessments: BTreeMap<String, String>,
    /// Changed files and their change.
    pub(in crate::cli) files: BTreeMap<String, ChangeKind>,
    /// Failed steps, including tolerated ones.
    pub(in crate::cli) failures: Vec<Failed>,
    /// Number of checks in the last gate of each step instance that did not pass.
    pub(in crate::cli) open_checks: BTreeMap<String, usize>,
    /// Warnings: step instance and text, in order.
    pub(in crate::cli) warnings: Vec<(String, String)>,
    /// Steps that wait for a person: the question or the reason.
    pub(in crate::cli) waiting: BTreeMap<String, String>,
    /// Those of them that need an answer rather than an approval.
    pub(in crate::cli) questions: BTreeMap<String, OpenQuestion>,
    /// Those of them that need a higher budget.
    waiting_for_budget: BTreeSet<String>,
    /// Steps whose child run waits for a person.
    pub(in crate::cli) waiting_children: BTreeSet<String>,
    /// Outputs of the run.
    pub(in crate::cli) outputs: Option<Arc<Json>>,
    /// Whether the outputs are too large to show.
    pub(in crate::cli) large_outputs: bool,
    /// The failure of the run, if it is not the failure of a step.
    pub(in crate::cli) error: Option<ErrorView>,
    /// Steps that succeeded although their gate did not pass (`onInconclusive: warn`, `onFailed: warn`).
    pub(in crate::cli) unproven: BTreeSet<String>,
    /// Number of such steps in the child runs of steps.
    unproven_below: BTreeMap<String, u32>,
    /// Whether a file of its definitions is not what it was when the run started.
    pub(in crate::cli) has_changed: bool,
    /// Whether the last event was the end of the run.
    has_ended: bool,
    /// The last attempt of each step instance that has not ended.
    attempts: BTreeMap<String, LastAttempt>,
    /// Step instances that call a tool themselves.
    tool_steps: BTreeSet<String>,
    /// Warnings of the last gate of each step instance.
    claims: BTreeMap<String, Vec<String>>,
    /// Tokens and cost of all model calls of the run.
    pub(in crate::cli) usage: UsageView,
    /// Number of steps by status, once the run has ended.
    pub(in crate::cli) counts: BTreeMap<StepStatus, u32>,
}

impl RunSummary {
    /// Whether everything that waits needs a higher budget.
    pub(in crate::cli) fn waits_for_budget(&self) -> bool {
        !self.waiting.is_empty()
            && self.waiting.keys().all(|name| self.waiting_for_budget.contains(name))
    }

    /// Adds the positions of the failed steps, by step id.
    pub(in crate::cli) fn locate(&mut self, place: impl Fn(&str) -> Option<String>) {
        for failed in &mut self.failures {
            let step = failed.instance.split('[').next().unwrap_or_default();
            failed.place = place(step);
        }
    }

    /// The annotations of the failed steps for GitHub Actions, one a line. `folder` is the project folder
    /// in the repository, empty or with a `/` at its end.
    pub(in crate::cli) fn annotations(&self, folder: &str) -> String {
        self.failures.iter().map(|failed| failed.annotation(folder) + "\n").collect()
    }

    /// Adds the next event.
    pub(in crate::cli) fn add(&mut self, event: &Event) {
        if self.has_ended || matches!(event.body, Body::RunResume { .. }) {
            self.next_process();
        }
        self.has_ended = matches!(event.body, Body::RunEnd { .. });
        self.began.get_or_insert(event.at);
        self.last = Some(event.at);
        let name = event.place.as_ref().map(|place| place.instance.to_string()).unwrap_or_default();
        match &event.body {
            Body::RunStart { definition, .. } => self.definition.clone_from(definition),
            Body::VerificationComplete { verdict, reason, checks, assessment, .. } => {
                self.verdicts.entry(name.clone()).or_default().push(*verdict);
                let found = assessment.as_ref().map(assessment_text);
                self.assessments.remove(&name);
                self.assessments.extend(found.map(|found| (name.clone(), found)));
                self.judged(&name, reason.as_ref(), checks);
            }
            Body::StepNote { level: Severity::Warning, text } | Body::BudgetWarning { text } => {
                self.warn(&name, text.clone());
            }
            Body::ToolCall { args, .. } => {
                if let Some(attempt) = self.tool_steps.contains(&name).then_some(args.as_deref()) {
                    let command = attempt.and_then(failure::command_of_call);
                    self.attempts.entry(name).or_default().command = command;
                }
            }
            Body::ToolResult { changes, .. } => {
                changes.iter().for_each(|change| self.changed(&change.path, change.change));
            }
            Body::ChildEnd { status: RunStatus::Waiting, .. } => {
                self.waiting_children.insert(name);
            }
            Body::ChildEnd { child, verdicts, .. } => self.child_ended(name, child, *verdicts),
            Body::StepWaiting { reason, until: None, needs_budget } => {
                if *needs_budget {
                    self.waiting_for_budget.insert(name.clone())
                } else {
                    self.waiting_for_budget.remove(&name)
                };
                self.waiting.insert(name, reason.clone());
            }
            Body::AskOpened(asked) => {
                if asked.kind == QuestionKind::Ask {
                    let question = OpenQuestion::new(&name, &asked.options, asked.schema.as_ref());
                    self.questions.insert(name.clone(), question);
                }
                self.waiting.insert(name, asked.question.clone());
            }
            Body::AskAnswered { .. } => {
                self.waiting.remove(&name);
                self.questions.remove(&name);
            }
            Body::StepStart { kind, .. } => {
                if *kind == "tool" {
                    self.tool_steps.insert(name.clone());
                }
                self.attempts.remove(&name);
                self.waiting.remove(&name);
                self.unproven.remove(&name);
                self.unproven_below.remove(&name);
                self.waiting_children.remove(&name);
                self.failures.retain(|failed| failed.instance != name);
            }
            Body::StepReset { closure, .. } => {
                self.warnings.retain(|(instance, _)| !closure.contains(instance));
                self.failures.retain(|failed| !closure.contains(&failed.instance));
                self.verdicts.retain(|instance, _| !closure.contains(instance));
                self.assessments.retain(|instance, _| !closure.contains(instance));
                self.unproven.retain(|instance| !closure.contains(instance));
                self.unproven_below.retain(|instance, _| !closure.contains(instance));
                (self.outputs, self.large_outputs, self.error) = (None, false, None);
            }
            Body::AttemptEnd { usage, process, .. } => {
                self.spend(usage);
                if let Some(process) = process {
                    self.attempts.entry(name).or_default().command = failure::command(process);
                }
            }
            Body::StepEnd { .. } => self.ended(name, &event.body),
            Body::RunEnd { outputs, outputs_blob, error, usage, counts, .. } => {
                self.outputs.clone_from(outputs);
                self.large_outputs = outputs_blob.is_some();
                self.error.clone_from(error);
                self.usage = *usage;
                self.counts.clone_from(counts);
            }
            _ => {}
        }
    }

    /// Another process drives the run from the next event on.
    pub(in crate::cli) fn next_process(&mut self) {
        let before = self.began.take().zip(self.last.take());
        self.earlier += before.map(|(from, to)| to.since(from)).unwrap_or_default();
        self.has_ended = false;
    }

    /// Adds the stored output of the process of an attempt that is about to end.
    pub(in crate::cli) fn add_output(&mut self, name: &str, channel: &'static str, text: &str) {
        self.attempts.entry(name.to_owned()).or_default().add_stream(channel, text);
    }

    fn judged(&mut self, name: &str, reason: Option<&String>, checks: &[CheckView]) {
        self.reasons.remove(name);
        self.reasons.extend(reason.cloned().map(|reason| (name.to_owned(), reason)));
        let open: Vec<&CheckView> =
            checks.iter().filter(|check| check.verdict != Verdict::Passed).collect();
        self.open_checks.insert(name.to_owned(), open.len());
        let evidence = open.iter().filter_map(|check| evidence_text(check)).collect();
        self.attempts.entry(name.to_owned()).or_default().evidence = evidence;
        let warnings = checks.iter().filter(|check| check.warning);
        let warnings = warnings.filter_map(|check| check.reason.clone()).collect();
        self.claims.insert(name.to_owned(), warnings);
    }

    /// Number of steps, also of child runs, that succeeded although their gate did not pass.
    pub(in crate::cli) fn count_unproven(&self) -> usize {
        self.unproven.len() + self.unproven_below.values().sum::<u32>() as usize
    }

    /// The steps whose gate did not pass, and those with such steps in their child run.
    pub(in crate::cli) fn unproven_steps(&self) -> BTreeSet<&String> {
        self.unproven.iter().chain(self.unproven_below.keys()).collect()
    }

    /// Warns of gates of a child run that did not pass although their steps succeeded.
    fn child_ended(&mut self, name: String, child: &str, verdicts: Option<VerdictsView>) {
        self.unproven_below.remove(&name);
        let Some(count) = verdicts.map(|verdicts| verdicts.unproven).filter(|count| *count > 0)
        else {
            return;
        };
        let gates = counted(count as usize, "gate");
        self.warn(&name, format!("{gates} of its child run did not pass: `kb run show {child}`"));
        self.unproven_below.insert(name, count);
    }

    fn ended(&mut self, name: String, body: &Body) {
        let Body::StepEnd {
            status,
            tolerated,
            error,
            verdict,
            stdout_cut,
            is_finally,
            kept_from,
            ..
        } = body
        else {
            return;
        };
        if let Some(kept) = kept_from.as_deref().filter(|kept| kept.verdicts.is_some()) {
            self.child_ended(name.clone(), &kept.run, kept.verdicts);
        }
        let attempt = self.attempts.remove(&name).unwrap_or_default();
        self.waiting.remove(&name);
        self.questions.remove(&name);
        let succeeded = *status == StepStatus::Succeeded;
        let reason = self.reasons.get(&name).map(|why| format!(": {why}")).unwrap_or_default();
        if succeeded && verdict.is_some_and(|verdict| verdict != Verdict::Passed) {
            self.unproven.insert(name.clone());
        }
        match verdict.filter(|_| succeeded) {
            Some(Verdict::Failed) => {
                let text = format!("its gate failed; `onFailed: warn` accepts the result{reason}");
                self.warn(&name, text);
            }
            Some(Verdict::Inconclusive) => {
                self.warn(&name, format!("its gate is inconclusive{reason}"))
            }
            Some(Verdict::Unchecked) => self.warn(&name, format!("its gate is unchecked{reason}")),
            Some(Verdict::Passed) | None => {}
        }
        for claim in self.claims.remove(&name).unwrap_or_default() {
            self.warn(&name, claim);
        }
        if let Some(cut) = stdout_cut {
            self.warn(&name, stdout_truncated(*cut));
        }
        if *status == StepStatus::Failed && *is_finally {
            let why = error.as_ref().map(|e| format!(": {} [{}]", e.message, e.code));
            self.warn(&name, format!("a step of `finally` failed{}", why.unwrap_or_default()));
        } else if *status == StepStatus::Failed {
            let Body::StepEnd { duration_ms, .. } = *body else { return };
            let (instance, tolerated, error) = (name.clone(), *tolerated, error.clone());
            let place = None;
            self.failures.push(Failed { instance, place, tolerated, error, duration_ms, attempt });
        }
        if succeeded || *tolerated {
            // If the step succeeded or is tolerated, so are the failures of its items.
            let items = format!("{name}[");
            let own = self.failures.iter_mut().filter(|f| f.instance.starts_with(&items));
            own.for_each(|failed| failed.tolerated = true);
        }
    }

    fn warn(&mut self, name: &str, text: String) {
        let warning = (name.to_owned(), text);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Merges two changes of a file: created and modified is created, created and deleted is none.
    fn changed(&mut self, path: &str, change: ChangeKind) {
        match (self.files.get(path).copied(), change) {
            (Some(ChangeKind::Created), ChangeKind::Deleted) => {
                self.files.remove(path);
            }
            (Some(ChangeKind::Created), _) => {}
            (Some(ChangeKind::Deleted), ChangeKind::Created) => {
                self.files.insert(path.to_owned(), ChangeKind::Modified);
            }
            _ => {
                self.files.insert(path.to_owned(), change);
            }
        }
    }

    fn spend(&mut self, usage: &UsageView) {
        let own = &mut self.usage;
        // Before the first model call, the cost is zero and known.
        let before = if own.model_calls == 0 { Some(0.0) } else { own.cost_usd };
        own.prompt_tokens += usage.prompt_tokens;
        own.completion_tokens += usage.completion_tokens;
        own.cached_tokens += usage.cached_tokens;
        own.cache_write_tokens += usage.cache_write_tokens;
        own.reasoning_tokens += usage.reasoning_tokens;
        own.model_calls += usage.model_calls;
        own.tool_calls += usage.tool_calls;
        own.cost_usd = before.zip(usage.cost_usd).map(|(a, b)| a + b);
    }
}
