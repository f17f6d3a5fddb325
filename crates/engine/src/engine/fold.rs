//! Replays the events of a run.

use super::earlier_changes::EarlierChanges;
use crate::journal::StoredEvent;
use kb_base::value::Timestamp;
use kb_core::evidence::{Purpose, Record, ToolTrace};
use kb_core::run::{Event, InstanceIx, Rules, Session, State, StepStatus};
use kb_core::verify::FILES_BEFORE;
use kb_language::definition::{NetworkAccess, StepKind};
use kb_language::plan::{Facts, Plan, Touched};
use std::collections::{BTreeMap, BTreeSet};

/// A replayed journal: the state, and the records of live instances.
#[derive(Debug, Clone)]
pub struct Folded {
    /// State of the run.
    pub state: State,
    /// Number of the last event.
    pub seq: u64,
    /// Tool calls of instances that have not ended, from all attempts of their iteration.
    pub traces: BTreeMap<InstanceIx, ToolTrace>,
    /// Records of the attempts that are executing.
    pub histories: BTreeMap<InstanceIx, Vec<Record>>,
    /// What the specialists of the run left behind.
    pub session: Session,
    /// Who could write to the files of the run, and which of its values are foreign.
    pub facts: Facts,
    /// The number of the last event of a step that could write: who was shown the changes up to it has seen all.
    pub last_write: u64,
    /// The number of the event in which each question was opened.
    pub asked: BTreeMap<InstanceIx, u64>,
    /// The steps that have started and not ended, and that may change files.
    pub executing: BTreeSet<InstanceIx>,
    /// The instance whose start is the only reason that the files count as touched.
    beginning: Option<InstanceIx>,
    /// What earlier iterations of instances changed.
    pub earlier: EarlierChanges,
    /// Instances whose work a process left when it was killed, with its last sign of life.
    pub killed: BTreeMap<InstanceIx, Timestamp>,
}

impl Folded {
    /// The state before the first event.
    pub fn empty(plan: &Plan, rules: Rules) -> Self {
        let state = State::new(plan, rules);
        Folded {
            state,
            seq: 0,
            traces: BTreeMap::new(),
            histories: BTreeMap::new(),
            session: Session::default(),
            facts: Facts::default(),
            last_write: 0,
            asked: BTreeMap::new(),
            executing: BTreeSet::new(),
            beginning: None,
            earlier: EarlierChanges::default(),
            killed: BTreeMap::new(),
        }
    }

    /// Folds stored events into the state at their end.
    pub fn of(plan: &Plan, rules: Rules, events: &[StoredEvent]) -> Self {
        Folded::since(Facts::default(), plan, rules, events)
    }

    /// The same for a run of which facts of another run hold.
    pub fn since(facts: Facts, plan: &Plan, rules: Rules, events: &[StoredEvent]) -> Self {
        let mut folded = Folded { facts, ..Folded::empty(plan, rules) };
        for stored in events {
            folded.earlier.replay(plan, &folded.state, &stored.event);
            folded.state.apply(plan, stored.at, &stored.event);
            folded.note_records(plan, (stored.seq, stored.at), &stored.event);
            folded.seq = stored.seq;
        }
        folded
    }

    /// Adds a new event of the run, with its number, to all but the state.
    pub fn note(&mut self, plan: &Plan, at: (u64, Timestamp), event: &Event) {
        self.earlier.add(event);
        self.note_records(plan, at, event);
    }

    /// Keeps the records of live instances, and what specialists left behind.
    fn note_records(&mut self, plan: &Plan, (seq, at): (u64, Timestamp), event: &Event) {
        self.session.apply(at, event);
        self.note_executing(plan, event);
        self.note_touched(plan, seq, event);
        self.note_output(plan, event);
        match event {
            Event::Recorded { instance, record, .. } => {
                let trace = self.traces.entry(*instance);
                if let Record::CacheHit(hit) = &**record {
                    trace.or_default().take(&hit.trace);
                } else if !record.calls().is_empty() {
                    let trace = trace.or_default();
                    record.calls().iter().for_each(|call| trace.push(call.clone()));
                }
                // Observations serve the verification of a verdict, output the log; no attempt continues from them.
                if !matches!(**record, Record::Observed { .. } | Record::Output { .. }) {
                    let mut record = (**record).clone();
                    // A resumed attempt does not read prompts.
                    if let Record::ModelCall { prompt, .. } = &mut record {
                        *prompt = None;
                    }
                    self.histories.entry(*instance).or_default().push(record);
                }
            }
            Event::Started { instance, .. } => drop(self.histories.remove(instance)),
            Event::AttemptEnded { instance, .. } => {
                self.histories.remove(instance);
                self.killed.remove(instance);
                self.traces.entry(*instance).and_modify(ToolTrace::end_attempt);
            }
            Event::RunResumed { in_flight, lost_ms, .. } => {
                let alive = Timestamp(at.0 - *lost_ms as i64);
                for instance in in_flight {
                    self.traces.entry(*instance).and_modify(ToolTrace::interrupt);
                }
                self.beginning = None;
                let working: Vec<_> = self.working().map(|ix| (ix, alive)).collect();
                self.killed.extend(working);
            }
            Event::Ended { instance, .. } => {
                self.histories.remove(instance);
                self.killed.remove(instance);
                self.traces.remove(instance);
            }
            // The record of a judge is part of the verdict from now on.
            Event::Judged { instance, .. } => {
                self.histories.remove(instance);
            }
            Event::PassEnded { instance, .. } => {
                self.histories.remove(instance);
                let step = &plan.step(self.state.instance(*instance).step).step;
                if !step.details().keeps_evidence_of_passes() {
                    self.traces.remove(instance);
                }
            }
            Event::Reset { closure, .. } | Event::SentBack { closure, .. } => {
                closure.iter().for_each(|instance| {
                    self.histories.remove(instance);
                    self.traces.remove(instance);
                })
            }
            Event::RunStarted { .. }
            | Event::Continued { .. }
            | Event::Evaluated { .. }
            | Event::Expanded { .. }
            | Event::Ready { .. }
            | Event::Kept { .. }
            | Event::Skipped { .. }
            | Event::Recovered { .. }
            | Event::Waiting { .. }
            | Event::TimerSet { .. }
            | Event::Asked { .. }
            | Event::Merging { .. }
            | Event::Merged { .. }
            | Event::Answered { .. }
            | Event::CancelRequested { .. }
            | Event::TimedOut { .. }
            | Event::Draining { .. }
            | Event::RunEnded { .. } => {}
        }
    }

    /// The instances whose work has no recorded end: a killed process leaves what they changed.
    pub fn working(&self) -> impl Iterator<Item = InstanceIx> {
        let all = self.state.instances();
        let working =
            all.filter(|(_, of)| of.status == StepStatus::Running && of.items().is_none());
        working.map(|(ix, _)| ix).filter(|ix| {
            let history = self.histories.get(ix).map_or(&[][..], Vec::as_slice);
            !ended_its_work(history)
        })
    }

    /// Keeps that a specialist could write: from the start of its attempt, whatever it is seen to change.
    fn note_touched(&mut self, plan: &Plan, seq: u64, event: &Event) {
        let (instance, path) = match event {
            // A step of this run, or one whose changes are in the journal of another.
            Event::Started { instance, .. }
            | Event::Continued { instance, .. }
            | Event::Kept { instance, .. }
            | Event::AttemptEnded { instance, .. }
            | Event::Merged { instance, .. } => (*instance, None),
            Event::Recorded { instance, record, .. } => {
                let executed =
                    record.calls().iter().filter(|call| call.purpose == Purpose::Execution);
                let mut changes = executed.flat_map(|call| &call.changes);
                let Some(change) = changes.find(|change| !change.same_content) else { return };
                (*instance, Some(change.path.clone()))
            }
            Event::Asked { instance, .. } => {
                self.asked.insert(*instance, seq);
                return;
            }
            // A person was shown all changes, after the question was opened.
            Event::Answered { instance, approved: true, seen: Some(seen), .. } => {
                let asked = self.asked.get(instance).copied().unwrap_or(u64::MAX);
                let step = &plan.step(self.state.instance(*instance).step).step;
                let shown = asked.max(self.last_write) <= *seen && *seen < seq;
                // What executes now may change files after the person read them.
                if matches!(step.kind, StepKind::Approve(_)) && shown && self.executing.is_empty() {
                    (self.facts.touched, self.beginning) = (None, None);
                }
                return;
            }
            _ => return,
        };
        let begins = self.facts.touched.is_none() && matches!(event, Event::Started { .. });
        self.note_writer(plan, seq, instance, path);
        if self.last_write == seq {
            self.beginning = begins.then_some(instance);
        }
        // A command in the sandbox may execute what a specialist wrote.
        if self.facts.touched.is_some() && may_change_files(plan, &self.state, instance) {
            self.last_write = seq;
        }
    }

    /// Keeps which steps execute that may change files.
    fn note_executing(&mut self, plan: &Plan, event: &Event) {
        match event {
            Event::Started { instance, .. } | Event::Continued { instance, .. }
                if may_change_files(plan, &self.state, *instance) =>
            {
                self.executing.insert(*instance);
            }
            Event::Ended { instance, .. } => {
                self.executing.remove(instance);
            }
            _ => {}
        }
    }

    /// Keeps that a step could write, and the file that it is known to have changed.
    fn note_writer(&mut self, plan: &Plan, seq: u64, instance: InstanceIx, path: Option<String>) {
        let planned = plan.step(self.state.instance(instance).step);
        let network = match self.state.specialist(plan, instance) {
            Some(specialist) if path.is_some() || specialist.writes() => specialist.network,
            // The record of a child run does not say which of its steps changed a file.
            None if planned.has_writing_specialist() => NetworkAccess::default(),
            // What a foreign value makes a command do is not the work of the author.
            Some(_) | None if self.facts.may_execute_values(plan, planned) => {
                NetworkAccess::default()
            }
            Some(_) | None => return,
        };
        self.last_write = seq;
        let id = &planned.step.id;
        let first = || Touched { step: id.clone(), path: None, network };
        let touched = self.facts.touched.get_or_insert_with(first);
        if touched.path.is_none() && touched.step == *id {
            touched.path = path;
        }
        touched.network = wider(touched.network, network);
    }

    /// The step that could write before the attempt of an instance that is about to begin.
    pub fn touched_before(&self, instance: InstanceIx) -> Option<&Touched> {
        self.facts.touched.as_ref().filter(|_| self.beginning != Some(instance))
    }

    /// Keeps that the output of a step is foreign, by what is known at its start and at its end.
    fn note_output(&mut self, plan: &Plan, event: &Event) {
        let (Event::Started { instance, .. }
        | Event::Continued { instance, .. }
        | Event::Kept { instance, .. }
        | Event::Evaluated { instance, .. }
        | Event::AttemptEnded { instance, .. }
        | Event::Ended { instance, .. }) = event
        else {
            return;
        };
        let planned = plan.step(self.state.instance(*instance).step);
        self.facts.note_output(plan, planned);
    }
}

/// Whether a step can change files: by a specialist, a command, a tool or a child run.
fn may_change_files(plan: &Plan, state: &State, instance: InstanceIx) -> bool {
    let planned = plan.step(state.instance(instance).step);
    planned.writes() || planned.step.starts_commands() || planned.child().is_some()
}

/// Whether the last call of an attempt ended: what came after it changed no files.
fn ended_its_work(history: &[Record]) -> bool {
    let ended = |record: &Record| match record {
        Record::ToolCall { .. } => Some(false),
        Record::ToolResult { invocation, .. } => {
            let works = invocation.purpose == Purpose::Execution;
            (works && invocation.tool != FILES_BEFORE).then_some(true)
        }
        _ => None,
    };
    history.iter().rev().find_map(ended).unwrap_or(false)
}

/// The network of both.
fn wider(one: NetworkAccess, other: NetworkAccess) -> NetworkAccess {
    let width = |network: NetworkAccess| match network {
        NetworkAccess::None => 0,
        NetworkAccess::Loopback => 1,
        NetworkAccess::Open => 2,
    };
    if width(one) >= width(other) { one } else { other }
}
