use crate::value::{Json, Timestamp};
use crate::wire::{Body, ErrorView, Event, UsageView};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a run's events add up to, for the summary.
#[derive(Debug, Default)]
pub(in crate::cli) struct Tally {
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
    /// Steps that wait for a person, with for what.
    pub(in crate::cli) waiting: BTreeMap<String, String>,
    /// What the run hands out.
    pub(in crate::cli) outputs: Option<Arc<Json>>,
    /// Whether that is too large to be shown.
    pub(in crate::cli) large_outputs: bool,
    /// Why the run did not succeed, where that is no step's own failure.
    pub(in crate::cli) error: Option<ErrorView>,
    /// What it took.
    pub(in crate::cli) usage: UsageView,
    /// Steps by status, once the run has ended.
    pub(in crate::cli) counts: BTreeMap<&'static str, u32>,
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

impl Tally {
    /// Takes in the next event.
    pub(in crate::cli) fn add(&mut self, event: &Event) {
        self.began.get_or_insert(event.at);
        self.last = Some(event.at);
        let name = event.place.as_ref().map(|place| place.instance.to_string()).unwrap_or_default();
        match &event.body {
            Body::RunStart { definition, .. } => self.definition.clone_from(definition),
            Body::VerificationComplete { verdict, reason, .. } => {
                self.verdicts.entry(name.clone()).or_default().push(verdict.clone());
                self.reasons.remove(&name);
                self.reasons.extend(reason.clone().map(|reason| (name, reason)));
            }
            Body::ToolResult { changes, .. } => {
                changes.iter().for_each(|change| self.changed(&change.path, change.change));
            }
            Body::StepWaiting { reason, until: None } => {
                self.waiting.insert(name, reason.clone());
            }
            Body::StepStart { .. } => {
                self.waiting.remove(&name);
                self.failures.retain(|failed| failed.instance != name);
            }
            Body::StepReset { closure, .. } => {
                self.failures.retain(|failed| !closure.contains(&failed.instance));
                self.verdicts.retain(|instance, _| !closure.contains(instance));
                (self.outputs, self.large_outputs, self.error) = (None, false, None);
            }
            Body::AttemptEnd { usage, .. } => self.spend(usage),
            Body::StepEnd { status: "failed", tolerated, error, .. } => {
                let (tolerated, error) = (*tolerated, error.clone());
                self.failures.push(Failed { instance: name, tolerated, error });
            }
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
