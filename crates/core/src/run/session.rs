//! [`Session`]: what the specialists of a run decided, found and left behind, folded from events.
//!
//! Pure, so that a resume and `kb run session` see what the run saw. [`Session::seen_by`] gives the part
//! that one step sees: what the steps left that it depends on, directly or not. It therefore does not
//! depend on which of the other steps happened to end first.

use super::event::{Event, InstanceIx, StepStatus};
use super::state::State;
use crate::evidence::{
    ARTIFACTS, Artifact, ArtifactRef, BLOCKER_TOKENS, BLOCKERS, DECISIONS, FACTS, GAPS,
    GOAL_TOKENS, Handoff, Payload, SUMMARY_TOKENS, SessionLine, SessionState, VERIFICATION_WARNING,
    Verdict, Verification,
};
use kb_base::value::{Failure, Json, Timestamp, cut_to_tokens};
use kb_language::definition::StepPhase;
use kb_language::plan::{Plan, StepIx};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of step instances that are remembered; of more, those that come first in the plan.
const INSTANCES: usize = 1_000;
/// Tokens of one fact, and characters of a confidence.
const FACT_TOKENS: usize = 60;
/// A judge's confidence below which a result is reported as a blocker (001, phase 7).
const LOW_CONFIDENCE: f64 = 0.5;
/// A judge's confidence from which the mentions that it verified are facts for later steps (001, phase 7).
const SURE: f64 = 0.7;

/// What the instances of a run left behind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Session {
    instances: BTreeMap<InstanceIx, Entry>,
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

/// What gates found out about an instance, over all its attempts.
#[derive(Debug, Clone, Default, PartialEq)]
struct Facts {
    verified: Vec<String>,
    refuted: Vec<String>,
    gaps: Vec<String>,
    doubt: Option<String>,
    warnings: Vec<String>,
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
            Event::Ended { instance, status, failure, .. } => {
                let failed = *status == StepStatus::Failed && failure.is_some();
                if failed || self.instances.contains_key(instance) {
                    let message = failure.as_ref().map(|failure| failure.message.as_str());
                    let entry = self.entry(*instance);
                    entry.failure = message.map(|text| cut_to_tokens(text, BLOCKER_TOKENS));
                    entry.partial = failure.as_ref().and_then(partial);
                    entry.end = Some((*status, at));
                }
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
            | Event::Recorded { .. }
            | Event::Recovered { .. }
            | Event::Waiting { .. }
            | Event::Answered { .. }
            | Event::PassEnded { .. }
            | Event::TimerSet { .. }
            | Event::Asked { .. }
            | Event::Merging { .. }
            | Event::Merged { .. }
            | Event::Skipped { .. }
            | Event::CancelRequested { .. }
            | Event::TimedOut { .. }
            | Event::Draining { .. }
            | Event::RunEnded { .. } => {}
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
        let ended = self.instances.iter().filter(|(_, entry)| entry.succeeded());
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
            view.add(&state.key(plan, ix).to_string(), entry);
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
}

impl Facts {
    fn of(verification: &Verification) -> Facts {
        let mut facts = Facts::default();
        for check in &verification.checks {
            if let Some(claim) = check.check.strip_prefix("claim ") {
                let claim = cut_to_tokens(claim, FACT_TOKENS);
                match check.verdict {
                    Verdict::Passed if !check.warning => facts.verified.push(claim),
                    Verdict::Failed | Verdict::Passed => facts.refuted.push(claim),
                    Verdict::Inconclusive | Verdict::Unchecked => {}
                }
            }
        }
        if let Some(found) = verification.assessment() {
            facts.add_assessment(found);
        }
        facts
    }

    fn add_assessment(&mut self, found: &Json) {
        let texts = |key: &str| {
            let list = found[key].as_array().into_iter().flatten().filter_map(Json::as_str);
            list.map(|text| cut_to_tokens(text, FACT_TOKENS)).collect::<Vec<String>>()
        };
        let confidence = found["confidence"].as_f64().unwrap_or(1.0);
        if confidence < LOW_CONFIDENCE {
            self.doubt = Some(format!("low confidence ({confidence}) of its result"));
        } else if confidence >= SURE {
            self.verified.extend(texts("verifiedMentions"));
        }
        let warnings = found["warnings"].as_array().into_iter().flatten();
        let told = warnings.filter(|one| one["code"] == VERIFICATION_WARNING);
        let told = told.filter_map(|one| one["message"].as_str());
        self.warnings.extend(told.map(|text| cut_to_tokens(text, BLOCKER_TOKENS)));
        self.refuted.extend(texts("unverifiedMentions"));
        self.gaps.extend(texts("gaps"));
    }

    /// Adds what a later attempt showed: it replaces what was verified, and what it verified is refuted
    /// no longer.
    fn learn(&mut self, later: Facts) {
        self.refuted.extend(later.refuted);
        self.refuted.retain(|known| !later.verified.contains(known));
        unique(&mut self.refuted, FACTS);
        self.verified = later.verified;
        unique(&mut self.verified, FACTS);
        (self.gaps, self.doubt, self.warnings) = (later.gaps, later.doubt, later.warnings);
        unique(&mut self.gaps, GAPS);
        unique(&mut self.warnings, BLOCKERS);
    }
}

/// The parts of a state, all entries of each.
#[derive(Default)]
struct Collected {
    state: SessionState,
}

impl Collected {
    fn add(&mut self, step: &str, entry: &Entry) {
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
        let summary = match (&entry.handoff, &entry.partial) {
            (Some(handoff), _) => format!(": {}", handoff.summary),
            (None, Some(partial)) => format!(", {partial}"),
            (None, None) => String::new(),
        };
        let ended = format!("{status}{verdict}{summary}");
        state.history.push(line(ended.trim_end_matches([':', ' '])));
        let Some(handoff) = entry.handoff.as_ref().filter(|_| entry.succeeded()) else { return };
        state.known_hallucinations.retain(|line| !entry.facts.verified.contains(&line.text));
        state.verified_facts.extend(lines(&entry.facts.verified));
        state.known_gaps.extend(lines(&entry.facts.gaps));
        state.key_decisions.extend(lines(&handoff.decisions));
        state.constraints.extend(lines(&handoff.constraints));
        state.blockers.extend(lines(&handoff.blockers));
        if handoff.goal.is_some() {
            state.goal.clone_from(&handoff.goal);
        }
        state.suggested_next.clone_from(&handoff.suggested_next);
        let all = handoff.artifacts.iter().enumerate();
        state.artifacts.extend(all.map(|(n, artifact)| reference(step, n, artifact, at)));
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
fn partial(failure: &Failure) -> Option<String> {
    let partial = failure.details.as_ref()?.get("partial")?;
    let paths = partial["changed"].as_array().into_iter().flatten().filter_map(Json::as_str);
    let paths: Vec<&str> = paths.collect();
    let changed = (!paths.is_empty()).then(|| format!("changed {}", paths.join(", ")));
    let text = partial["output"]["summary"].as_str().or(partial["text"].as_str());
    let said = text.map(|text| format!("said: {}", cut_to_tokens(text, SUMMARY_TOKENS)));
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

/// The first of equal texts, this many at most.
fn unique(texts: &mut Vec<String>, most: usize) {
    first_of_each(texts, String::clone);
    texts.truncate(most);
}

/// Keeps the first of the values with the same text.
fn first_of_each<T>(values: &mut Vec<T>, text: impl Fn(&T) -> String) {
    let mut seen = BTreeSet::new();
    values.retain(|value| seen.insert(text(value)));
}
