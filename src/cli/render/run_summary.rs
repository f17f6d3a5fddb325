use super::event_line::stdout_truncated;
use crate::diagnostic::Code;
use crate::value::{Json, Timestamp, WARNING};
use crate::wire::{Body, CheckView, ErrorView, Event, QuestionKind, UsageView};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a run's events add up to, for the summary.
#[derive(Debug, Default)]
pub(in crate::cli) struct RunSummary {
    /// The definition's id.
    pub(in crate::cli) definition: String,
    /// When the first event was.
    pub(in crate::cli) began: Option<Timestamp>,
    /// When the last event was.
    pub(in crate::cli) last: Option<Timestamp>,
    /// Verdicts of each gate, in order of time.
    pub(in crate::cli) verdicts: BTreeMap<String, Vec<String>>,
    /// Each step's last reason that was no `passed`.
    pub(in crate::cli) reasons: BTreeMap<String, String>,
    /// What became of each file.
    pub(in crate::cli) files: BTreeMap<String, &'static str>,
    /// Failed and tolerated steps, with why.
    pub(in crate::cli) failures: Vec<Failed>,
    /// How many checks of each step's last gate did not pass.
    pub(in crate::cli) open_checks: BTreeMap<String, usize>,
    /// What went through, but not as it should: instance and text, in order of time.
    pub(in crate::cli) warnings: Vec<(String, String)>,
    /// Steps with a tool call that a person has to approve.
    pub(in crate::cli) unapproved: Vec<Unapproved>,
    /// Steps that wait for a person: the question or the reason.
    pub(in crate::cli) waiting: BTreeMap<String, String>,
    /// Those of them that need an answer rather than an approval.
    pub(in crate::cli) questions: BTreeSet<String>,
    /// What the run hands out.
    pub(in crate::cli) outputs: Option<Arc<Json>>,
    /// Whether that is too large to be shown.
    pub(in crate::cli) large_outputs: bool,
    /// Why the run did not succeed, where that is no step's own failure.
    pub(in crate::cli) error: Option<ErrorView>,
    /// What claims of each step's last gate were let pass with.
    claims: BTreeMap<String, Vec<String>>,
    /// What it took.
    pub(in crate::cli) usage: UsageView,
    /// Steps by status, once the run has ended.
    pub(in crate::cli) counts: BTreeMap<&'static str, u32>,
}

/// A tool that was denied because nobody approved it.
#[derive(Debug, PartialEq)]
pub(in crate::cli) struct Unapproved {
    /// Of which step.
    pub(in crate::cli) step: String,
    /// For whom.
    pub(in crate::cli) instance: String,
    /// Which.
    pub(in crate::cli) tool: String,
}

/// A step that failed.
#[derive(Debug)]
pub(in crate::cli) struct Failed {
    /// Which.
    pub(in crate::cli) instance: String,
    /// Whether the run did not mind.
    pub(in crate::cli) tolerated: bool,
    /// Why.
    pub(in crate::cli) error: Option<ErrorView>,
}

impl RunSummary {
    /// Takes in the next event.
    pub(in crate::cli) fn add(&mut self, event: &Event) {
        self.began.get_or_insert(event.at);
        self.last = Some(event.at);
        let name = event.place.as_ref().map(|place| place.instance.to_string()).unwrap_or_default();
        match &event.body {
            Body::RunStart { definition, .. } => self.definition.clone_from(definition),
            Body::VerificationComplete { verdict, reason, checks, .. } => {
                self.verdicts.entry(name.clone()).or_default().push(verdict.clone());
                self.judged(&name, reason.as_ref(), checks);
            }
            Body::StepNote { level: "warning", text } => self.warn(&name, text.clone()),
            Body::ToolResult { changes, tool, error, .. } => {
                changes.iter().for_each(|change| self.changed(&change.path, change.change));
                let code = Code::NEEDS_APPROVAL.as_str();
                if error.as_ref().is_some_and(|error| error.code == code) {
                    self.unapproved(event, tool);
                }
            }
            Body::StepWaiting { reason, until: None } => {
                self.waiting.insert(name, reason.clone());
            }
            Body::AskOpened { question, kind, .. } => {
                if *kind == QuestionKind::Ask.as_str() {
                    self.questions.insert(name.clone());
                }
                self.waiting.insert(name, question.clone());
            }
            Body::AskAnswered { .. } => {
                self.waiting.remove(&name);
                self.questions.remove(&name);
            }
            Body::StepStart { .. } => {
                self.waiting.remove(&name);
                self.failures.retain(|failed| failed.instance != name);
            }
            Body::StepReset { closure, .. } => {
                self.warnings.retain(|(instance, _)| !closure.contains(instance));
                self.unapproved.retain(|denied| !closure.contains(&denied.instance));
                self.failures.retain(|failed| !closure.contains(&failed.instance));
                self.verdicts.retain(|instance, _| !closure.contains(instance));
                (self.outputs, self.large_outputs, self.error) = (None, false, None);
            }
            Body::AttemptEnd { usage, .. } => self.spend(usage),
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

    fn judged(&mut self, name: &str, reason: Option<&String>, checks: &[CheckView]) {
        self.reasons.remove(name);
        self.reasons.extend(reason.cloned().map(|reason| (name.to_owned(), reason)));
        let open = checks.iter().filter(|check| check.verdict != "passed").count();
        self.open_checks.insert(name.to_owned(), open);
        let excused = checks.iter().filter(|check| check.verdict == "passed");
        let excused = excused.filter_map(|check| check.reason.as_deref()?.strip_prefix(WARNING));
        self.claims.insert(name.to_owned(), excused.map(str::to_owned).collect());
    }

    fn ended(&mut self, name: String, body: &Body) {
        let Body::StepEnd { status, tolerated, error, verdict, stdout_cut, is_finally, .. } = body
        else {
            return;
        };
        self.waiting.remove(&name);
        self.questions.remove(&name);
        let succeeded = *status == "succeeded";
        let reason = self.reasons.get(&name).map(|why| format!(": {why}")).unwrap_or_default();
        match verdict.as_deref().filter(|_| succeeded) {
            Some("failed") => {
                let text = format!("its gate failed, and `onFailed: warn` lets it pass{reason}");
                self.warn(&name, text);
            }
            Some("inconclusive") => self.warn(&name, format!("its gate is inconclusive{reason}")),
            _ => {}
        }
        for claim in self.claims.remove(&name).unwrap_or_default() {
            self.warn(&name, claim);
        }
        if let Some(cut) = stdout_cut {
            self.warn(&name, stdout_truncated(*cut));
        }
        if *status == "failed" && *is_finally {
            let why = error.as_ref().map(|e| format!(": {} [{}]", e.message, e.code));
            self.warn(&name, format!("a step of `finally` failed{}", why.unwrap_or_default()));
        } else if *status == "failed" {
            let (tolerated, error) = (*tolerated, error.clone());
            self.failures.push(Failed { instance: name.clone(), tolerated, error });
        }
        if succeeded || *tolerated {
            // What the step got over, its items' failures are part of.
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

    fn unapproved(&mut self, event: &Event, tool: &str) {
        let Some(place) = &event.place else { return };
        let (step, instance) = (place.step.to_string(), place.instance.to_string());
        let denied = Unapproved { step, instance, tool: tool.to_owned() };
        if !self.unapproved.contains(&denied) {
            self.unapproved.push(denied);
        }
    }

    /// A file that is made and then changed is new; one that is made and then deleted is nothing.
    fn changed(&mut self, path: &str, change: &'static str) {
        match (self.files.get(path).copied(), change) {
            (Some("created"), "deleted") => drop(self.files.remove(path)),
            (Some("created"), _) => {}
            (Some("deleted"), "created") => drop(self.files.insert(path.to_owned(), "modified")),
            _ => drop(self.files.insert(path.to_owned(), change)),
        }
    }

    fn spend(&mut self, usage: &UsageView) {
        let own = &mut self.usage;
        // Where nothing was asked yet, the cost is known: none.
        let before = if own.model_calls == 0 { Some(0.0) } else { own.cost_usd };
        own.prompt_tokens += usage.prompt_tokens;
        own.completion_tokens += usage.completion_tokens;
        own.cached_tokens += usage.cached_tokens;
        own.model_calls += usage.model_calls;
        own.tool_calls += usage.tool_calls;
        own.cost_usd = before.zip(usage.cost_usd).map(|(a, b)| a + b);
    }
}
