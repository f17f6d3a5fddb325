//! Replays the events of a run.

use super::deciding_changes::DecidingChanges;
use super::earlier_changes::EarlierChanges;
use super::known::{Known, LiveKnown};
use crate::journal::StoredEvent;
use kb_attempt::{Live, ParentFacts};
use kb_base::value::Timestamp;
use kb_core::evidence::{FILES_BEFORE, Payload, Purpose, Record, ToolTrace};
use kb_core::run::{Event, InstanceIx, Rules, Session, State, StepStatus};
use kb_language::plan::{Facts, Plan};
use std::collections::BTreeMap;

/// A replayed journal: the state, and the records of live instances.
#[derive(Debug)]
pub struct Folded {
    /// State of the run.
    pub state: State,
    /// Number of the last event.
    pub seq: u64,
    /// Tool calls of instances that have not ended, from all attempts of their iteration.
    pub traces: BTreeMap<InstanceIx, ToolTrace>,
    /// The results of these calls, of specialists, by the ids of the calls.
    pub results: BTreeMap<InstanceIx, BTreeMap<String, Payload>>,
    /// Records of the attempts that are executing.
    pub histories: BTreeMap<InstanceIx, Vec<Record>>,
    /// What the specialists of the run left behind.
    pub session: Session,
    /// Who could write to the files of the run, and which of its values are foreign.
    pub known: LiveKnown,
    /// What earlier iterations of instances changed.
    pub earlier: EarlierChanges,
    /// What specialists changed that can decide what a command does.
    pub deciding: DecidingChanges,
    /// Instances whose work a process left when it was killed, with its last sign of life.
    pub killed: BTreeMap<InstanceIx, Timestamp>,
    /// The same for instances whose gate it left.
    pub killed_gates: BTreeMap<InstanceIx, Timestamp>,
}

impl Folded {
    /// The state before the first event.
    pub fn empty(plan: &Plan, rules: Rules) -> Self {
        let state = State::new(plan, rules);
        Folded {
            state,
            seq: 0,
            traces: BTreeMap::new(),
            results: BTreeMap::new(),
            histories: BTreeMap::new(),
            session: Session::default(),
            known: LiveKnown::default(),
            earlier: EarlierChanges::default(),
            deciding: DecidingChanges::default(),
            killed: BTreeMap::new(),
            killed_gates: BTreeMap::new(),
        }
    }

    /// Folds stored events into the state at their end.
    pub fn of(plan: &Plan, rules: Rules, events: &[StoredEvent]) -> Self {
        Folded::since((Facts::default(), None), plan, rules, events)
    }

    /// The same for a run of which facts of another run hold, and of which its parent knows more.
    pub fn since(
        (facts, parent): (Facts, Option<Live<ParentFacts>>),
        plan: &Plan,
        rules: Rules,
        events: &[StoredEvent],
    ) -> Self {
        let known = LiveKnown::of(Known::since(facts, parent));
        let mut folded = Folded { known, ..Folded::empty(plan, rules) };
        folded.add(plan, events);
        folded
    }

    /// Adds the events that follow.
    pub fn add(&mut self, plan: &Plan, events: &[StoredEvent]) {
        for stored in events {
            self.earlier.replay(plan, &self.state, &stored.event);
            self.state.apply(plan, stored.at, &stored.event);
            self.note_records(plan, (stored.seq, stored.at), &stored.event);
            self.seq = stored.seq;
        }
    }

    /// Adds a new event of the run, with its number, to all but the state.
    pub fn note(&mut self, plan: &Plan, at: (u64, Timestamp), event: &Event) {
        self.earlier.add(event);
        self.note_records(plan, at, event);
    }

    /// Keeps the records of live instances, and what specialists left behind.
    fn note_records(&mut self, plan: &Plan, (seq, at): (u64, Timestamp), event: &Event) {
        self.session.apply(at, event);
        self.known.get().note(plan, &self.state, (seq, at), event);
        self.deciding.note(plan, &self.state, event);
        if matches!(event, Event::Answered { .. })
            && self.known.ask(|facts| facts.touched.is_none())
        {
            self.deciding.clear();
        }
        match event {
            Event::Recorded { instance, record, .. } => {
                let trace = self.traces.entry(*instance);
                if let Record::CacheHit(hit) = &**record {
                    trace.or_default().take(&hit.trace);
                } else if !record.calls().is_empty() {
                    let trace = trace.or_default();
                    record.calls().iter().for_each(|call| trace.push(call.clone()));
                }
                if let Record::ToolResult { turn: 1.., invocation, result } = &**record {
                    let results = self.results.entry(*instance).or_default();
                    results.insert(invocation.id.clone(), result.clone());
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
                let working: Vec<_> = self.working().map(|ix| (ix, alive)).collect();
                self.killed.extend(working);
                let is_judged =
                    |ix: &&InstanceIx| self.state.instance(**ix).status == StepStatus::Verifying;
                let judged = in_flight.iter().filter(is_judged).map(|ix| (*ix, alive));
                self.killed_gates.extend(judged.collect::<Vec<_>>());
            }
            Event::Ended { instance, .. } => {
                self.histories.remove(instance);
                self.killed.remove(instance);
                self.forget_calls(*instance);
            }
            // The record of a judge is part of the verdict from now on.
            Event::Judged { instance, .. } => {
                self.histories.remove(instance);
                self.killed_gates.remove(instance);
            }
            Event::PassEnded { instance, .. } => {
                self.histories.remove(instance);
                let step = &plan.step(self.state.instance(*instance).step).step;
                if !step.details().keeps_evidence_of_passes() {
                    self.forget_calls(*instance);
                }
            }
            Event::Reset { closure, .. } | Event::SentBack { closure, .. } => {
                closure.iter().for_each(|instance| {
                    self.histories.remove(instance);
                    self.forget_calls(*instance);
                })
            }
            Event::RunStarted { .. }
            | Event::Continued { .. }
            | Event::Exchanged { .. }
            | Event::Evaluated { .. }
            | Event::Expanded { .. }
            | Event::Ready { .. }
            | Event::Kept { .. }
            | Event::Skipped { .. }
            | Event::PlanRevised { .. }
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

    /// The calls of an instance count no more.
    fn forget_calls(&mut self, instance: InstanceIx) {
        self.traces.remove(&instance);
        self.results.remove(&instance);
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
