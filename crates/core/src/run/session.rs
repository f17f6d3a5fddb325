//! [`Session`]: what the specialists of a run decided, found and left behind, folded from events.
//!
//! Pure, so that a resume and `kb run session` see what the run saw. [`Session::seen_by`] gives the part
//! that one step sees: what the steps left that it depends on, directly or not. It therefore does not
//! depend on which of the other steps happened to end first.

use super::event::{Event, InstanceIx, StepStatus};
use super::session_facts::{Facts, first_of_each};
use super::state::State;
use crate::evidence::{
    ARTIFACTS, Artifact, ArtifactRef, BLOCKER_TOKENS, BLOCKERS, DECISION_TOKENS, DECISIONS, FACTS,
    GAPS, GOAL_TOKENS, Handoff, Invocation, Payload, Purpose, Record, SUMMARY_TOKENS, SessionLine,
    SessionState, Verdict, Verification,
};
use kb_base::value::{Failure, Timestamp, cut_to_tokens, json_text};
use kb_language::definition::StepPhase;
use kb_language::plan::{Plan, StepIx};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of step instances that are remembered; of more, those that come first in the plan.
const INSTANCES: usize = 1_000;
/// Files of one instance that its history line names.
const CHANGED: usize = 20;
/// What stands before a text of a specialist whose work a gate refuted.
const UNCONFIRMED: &str = "not confirmed: ";

/// What the instances of a run left behind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Session {
    instances: BTreeMap<InstanceIx, Entry>,
    /// The files that recorded calls of open instances changed.
    changed: BTreeMap<InstanceIx, BTreeSet<String>>,
}

/// What one instance left behind.
#[derive(Debug, Clone, Default, PartialEq)]
struct Entry {
    handoff: Option<Box<Handoff>>,
    verdict: Option<Verdict>,
    facts: Facts,
    end: Option<(StepStatus, Timestamp)>,
    failure: Option<String>,
    /// What a failed specialist got done.
    partial: Option<String>,
}

impl Session {
    /// Folds one event.
    pub fn apply(&mut self, at: Timestamp, event: &Event) {
        match event {
            Event::AttemptEnded { instance, handoff: Some(handoff), .. } => {
                let entry = self.entry(*instance);
                entry.handoff = Some(handoff.clone());
                entry.verdict = None;
            }
            Event::AttemptEnded { instance, handoff: None, .. } => {
                if let Some(entry) = self.instances.get_mut(instance) {
                    (entry.handoff, entry.verdict) = (None, None);
                }
            }
            Event::Judged { instance, verification, .. } => self.judged(*instance, verification),
            Event::Recorded { instance, record, .. } => {
                if let Record::ToolResult { invocation, .. } = &**record {
                    self.note_changes(*instance, invocation);
                }
            }
            Event::Ended { instance, status, failure, .. } => {
                let failed = *status == StepStatus::Failed && failure.is_some();
                if failed || self.instances.contains_key(instance) {
                    let message = failure.as_ref().map(|failure| failure.message.as_str());
                    let entry = self.entry(*instance);
                    entry.failure = message.map(|text| cut_to_tokens(text, BLOCKER_TOKENS));
                    entry.end = Some((*status, at));
                    let changed = self.changed.remove(instance).unwrap_or_default();
                    let entry = self.entry(*instance);
                    let done = failure.as_ref().and_then(|f| partial(f, entry, &changed));
                    entry.partial = done;
                }
                self.changed.remove(instance);
            }
            Event::Kept { instance, kept } => {
                if let Some(handoff) = &kept.handoff {
                    let entry = self.entry(*instance);
                    entry.handoff = Some(handoff.clone());
                    entry.end = Some((kept.status, at));
                }
                if let Some(verification) = &kept.verification {
                    self.judged(*instance, verification);
                }
            }
            Event::Reset { closure, .. } | Event::SentBack { closure, .. } => {
                closure.iter().for_each(|instance| {
                    self.instances.remove(instance);
                })
            }
            Event::RunStarted { .. }
            | Event::RunResumed { .. }
            | Event::Evaluated { .. }
            | Event::Expanded { .. }
            | Event::Ready { .. }
            | Event::Started { .. }
            | Event::Continued { .. }
            | Event::Exchanged { .. }
            | Event::Recovered { .. }
            | Event::Waiting { .. }
            | Event::Answered { .. }
            | Event::PassEnded { .. }
            | Event::TimerSet { .. }
            | Event::Asked { .. }
            | Event::Merging { .. }
            | Event::Merged { .. }
            | Event::Skipped { .. }
            | Event::PlanRevised { .. }
            | Event::CancelRequested { .. }
            | Event::TimedOut { .. }
            | Event::Draining { .. }
            | Event::RunEnded { .. } => {}
        }
    }

    fn note_changes(&mut self, instance: InstanceIx, call: &Invocation) {
        let changes = call.changes.iter().filter(|change| !change.same_content);
        for change in changes.filter(|_| call.purpose == Purpose::Execution) {
            let known = self.changed.entry(instance).or_default();
            if known.len() < CHANGED {
                known.insert(change.path.clone());
            }
        }
    }

    fn entry(&mut self, instance: InstanceIx) -> &mut Entry {
        if self.instances.len() >= INSTANCES && !self.instances.contains_key(&instance) {
            self.instances.pop_last();
        }
        self.instances.entry(instance).or_default()
    }

    fn judged(&mut self, instance: InstanceIx, verification: &Verification) {
        let found = Facts::of(verification);
        if let Some(entry) = self.instances.get_mut(&instance) {
            entry.verdict = Some(verification.verdict);
            entry.facts.learn(found);
        }
    }

    /// What a step sees: what the steps left that it depends on. A `finally` step sees all main steps.
    pub fn seen_by(&self, plan: &Plan, state: &State, reader: StepIx) -> SessionState {
        let mut seen: BTreeSet<StepIx> = BTreeSet::new();
        let mut open = vec![reader];
        while let Some(step) = open.pop() {
            let dependencies = plan.dependencies(step).map(|dependency| dependency.on);
            open.extend(dependencies.filter(|on| seen.insert(*on)));
        }
        let late = plan.step(reader).step.phase == StepPhase::Finally;
        self.view(plan, state, |step| {
            let main = plan.step(step).step.phase == StepPhase::Main;
            step != reader && (seen.contains(&step) || (late && main))
        })
    }

    /// What all steps left behind.
    pub fn whole(&self, plan: &Plan, state: &State) -> SessionState {
        self.view(plan, state, |_| true)
    }

    /// The artifacts of the instances that `seen_by` includes, or of all, with their ids.
    pub fn artifacts<'a>(
        &'a self,
        plan: &'a Plan,
        state: &'a State,
    ) -> impl Iterator<Item = (String, &'a Artifact)> + 'a {
        let ended = self.instances.iter().filter(|(_, entry)| entry.passes_on());
        ended.flat_map(move |(ix, entry)| {
            let step = state.key(plan, *ix).to_string();
            let all = entry.handoff.iter().flat_map(|handoff| &handoff.artifacts).enumerate();
            all.map(move |(n, artifact)| (id_of(&step, n, artifact), artifact))
        })
    }

    fn view(&self, plan: &Plan, state: &State, includes: impl Fn(StepIx) -> bool) -> SessionState {
        let place: BTreeMap<StepIx, usize> =
            plan.order().iter().enumerate().map(|(n, step)| (*step, n)).collect();
        let step_of = |ix: InstanceIx| state.instance(ix).step;
        let known = self.instances.iter().filter(|(ix, _)| ix.at() < state.instances().count());
        let mut ended: Vec<(InstanceIx, &Entry)> = known
            .filter(|(ix, entry)| entry.end.is_some() && includes(step_of(**ix)))
            .map(|(ix, entry)| (*ix, entry))
            .collect();
        ended.sort_by_key(|(ix, _)| (place.get(&step_of(*ix)).copied(), *ix));
        let mut view = Collected::default();
        for (ix, entry) in ended {
            let isolated = plan.step(step_of(ix)).isolation().is_some();
            view.add(&state.key(plan, ix).to_string(), entry, isolated);
        }
        let playbook = plan.playbook();
        let described = playbook.description.as_ref().unwrap_or(&playbook.name);
        view.into_state(cut_to_tokens(described, GOAL_TOKENS))
    }
}

impl Entry {
    fn succeeded(&self) -> bool {
        matches!(self.end, Some((StepStatus::Succeeded, _)))
    }

    /// Whether later steps see its handoff: also what a gate refuted can be of use, and is marked.
    fn passes_on(&self) -> bool {
        matches!(self.end, Some((StepStatus::Succeeded | StepStatus::Failed, _)))
    }
}

/// The parts of a state, all entries of each.
#[derive(Default)]
struct Collected {
    state: SessionState,
}

impl Collected {
    /// `isolated`: the step works in files of its own, which are merged if it succeeds.
    fn add(&mut self, step: &str, entry: &Entry, isolated: bool) {
        let state = &mut self.state;
        let line = |text: &str| SessionLine { step: step.to_owned(), text: text.to_owned() };
        let lines = |texts: &[String]| texts.iter().map(|text| line(text)).collect::<Vec<_>>();
        // The later step is believed, also where two judges contradict each other.
        state.verified_facts.retain(|line| !entry.facts.refuted.contains(&line.text));
        state.known_hallucinations.extend(lines(&entry.facts.refuted));
        state.blockers.extend(entry.facts.doubt.as_deref().map(line));
        state.blockers.extend(lines(&entry.facts.warnings));
        if let Some(failure) = &entry.failure {
            state.blockers.push(line(failure));
        }
        let Some((status, at)) = entry.end else { return };
        let verdict = entry.verdict.map(|verdict| format!(", gate {verdict}")).unwrap_or_default();
        let summary = match (&entry.partial, &entry.handoff) {
            (Some(partial), _) if isolated => {
                format!(", {partial} (in files of its own, which were not merged)")
            }
            (Some(partial), _) => format!(", {partial}"),
            (None, Some(handoff)) => format!(": {}", handoff.summary),
            (None, None) => String::new(),
        };
        let ended = format!("{status}{verdict}{summary}");
        state.history.push(line(ended.trim_end_matches([':', ' '])));
        if entry.succeeded() {
            state.known_hallucinations.retain(|line| !entry.facts.verified.contains(&line.text));
            state.verified_facts.extend(lines(&entry.facts.verified));
            state.known_gaps.extend(lines(&entry.facts.gaps));
        }
        let Some(handoff) = entry.handoff.as_ref().filter(|_| entry.passes_on()) else { return };
        let told = |texts: &[String]| -> Vec<SessionLine> {
            let told = |text: &String| {
                if entry.succeeded() {
                    line(text)
                } else {
                    line(&cut_to_tokens(&format!("{UNCONFIRMED}{text}"), DECISION_TOKENS))
                }
            };
            texts.iter().map(told).collect()
        };
        state.key_decisions.extend(told(&handoff.decisions));
        state.constraints.extend(told(&handoff.constraints));
        state.blockers.extend(told(&handoff.blockers));
        let all = handoff.artifacts.iter().enumerate();
        let all = all.map(|(n, artifact)| reference(step, n, artifact, at));
        state.artifacts.extend(all.map(|artifact| {
            if entry.succeeded() {
                artifact
            } else {
                ArtifactRef { preview: format!("{UNCONFIRMED}{}", artifact.preview), ..artifact }
            }
        }));
        if !entry.succeeded() {
            return;
        }
        if handoff.goal.is_some() {
            state.goal.clone_from(&handoff.goal);
        }
        state.suggested_next.clone_from(&handoff.suggested_next);
    }

    /// The newest of each part.
    fn into_state(self, goal: String) -> SessionState {
        let mut state = self.state;
        state.goal = state.goal.or_else(|| (!goal.is_empty()).then_some(goal));
        let listed = [
            &mut state.blockers,
            &mut state.verified_facts,
            &mut state.known_hallucinations,
            &mut state.known_gaps,
        ];
        listed.into_iter().for_each(once);
        newest(&mut state.key_decisions, DECISIONS);
        newest(&mut state.constraints, DECISIONS);
        newest(&mut state.blockers, BLOCKERS);
        newest(&mut state.artifacts, ARTIFACTS);
        newest(&mut state.verified_facts, FACTS);
        newest(&mut state.known_hallucinations, FACTS);
        newest(&mut state.known_gaps, GAPS);
        state
    }
}

/// What a failed specialist got done, in one line: the files that it changed, and its last output or text.
fn partial(failure: &Failure, entry: &Entry, changed: &BTreeSet<String>) -> Option<String> {
    let partial = failure.details.as_ref().and_then(|details| details.get("partial"));
    let paths: Vec<&str> = changed.iter().map(String::as_str).collect();
    let changed = (!paths.is_empty()).then(|| format!("changed {}", paths.join(", ")));
    let submitted = entry.handoff.as_ref().map(|handoff| handoff.summary.as_str());
    let last = partial.and_then(|one| {
        let output = &one["output"];
        let said = output["summary"].as_str().or(one["text"].as_str()).map(str::to_owned);
        said.or_else(|| output.is_object().then(|| json_text(output)))
    });
    let submitted = submitted.filter(|text| !text.is_empty()).map(str::to_owned);
    let text = submitted.or(last);
    let said = text.map(|text| format!("said: {}", cut_to_tokens(&text, SUMMARY_TOKENS)));
    let parts: Vec<String> = changed.into_iter().chain(said).collect();
    let line = format!("partial work: {}", parts.join("; "));
    (!parts.is_empty()).then(|| cut_to_tokens(&line, 2 * SUMMARY_TOKENS))
}

fn reference(step: &str, n: usize, artifact: &Artifact, at: Timestamp) -> ArtifactRef {
    ArtifactRef {
        id: id_of(step, n, artifact),
        kind: artifact.kind,
        preview: artifact.preview.clone(),
        tokens: artifact.tokens,
        created_by: step.to_owned(),
        created_at: at.rfc3339(),
        blob: match &artifact.content {
            Payload::Blob { digest, .. } => Some(digest.to_string()),
            Payload::Inline(_) => None,
        },
    }
}

/// The id of an artifact: its step, and its name or number.
fn id_of(step: &str, n: usize, artifact: &Artifact) -> String {
    match &artifact.name {
        Some(name) => format!("{step}/{name}"),
        None => format!("{step}/{}", n + 1),
    }
}

/// Keeps the newest line of each text, so that what many steps repeat takes one place.
fn once(listed: &mut Vec<SessionLine>) {
    listed.reverse();
    first_of_each(listed, |line| line.text.clone());
    listed.reverse();
}

fn newest<T>(listed: &mut Vec<T>, most: usize) {
    let left = listed.len().saturating_sub(most);
    listed.drain(..left);
}
