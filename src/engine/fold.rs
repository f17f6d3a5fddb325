//! Replays the events of a run.

use crate::attempt::ChangedCode;
use crate::definition::{NetworkAccess, StepKind};
use crate::diagnostic::Code;
use crate::evidence::{Change, Purpose, Record, ToolTrace, is_code};
use crate::journal::StoredEvent;
use crate::plan::Plan;
use crate::run::{Event, InstanceIx, Rules, Session, State};
use crate::value::Timestamp;
use std::collections::BTreeMap;

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
    /// The first change of a specialist that later commands of the author can execute.
    pub code: Option<ChangedCode>,
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
            code: None,
        }
    }

    /// Folds stored events into the state at their end.
    pub fn of(plan: &Plan, rules: Rules, events: &[StoredEvent]) -> Self {
        let mut folded = Folded::empty(plan, rules);
        for stored in events {
            folded.state.apply(plan, stored.at, &stored.event);
            folded.note(plan, stored.at, &stored.event);
            folded.seq = stored.seq;
        }
        folded
    }

    /// Keeps the records of live instances, and what specialists left behind.
    pub fn note(&mut self, plan: &Plan, at: Timestamp, event: &Event) {
        self.session.apply(at, event);
        self.note_code(plan, event);
        match event {
            Event::Recorded { instance, record, .. } => {
                let trace = self.traces.entry(*instance);
                if let Record::CacheHit(hit) = &**record {
                    trace.or_default().take(&hit.trace);
                } else if !record.calls().is_empty() {
                    let trace = trace.or_default();
                    record.calls().iter().for_each(|call| trace.push(call.clone()));
                }
                // Observations serve the verification of a verdict; no attempt continues from them.
                if !matches!(**record, Record::Observed { .. }) {
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
                self.traces.entry(*instance).and_modify(ToolTrace::end_attempt);
            }
            Event::RunResumed { in_flight, .. } => {
                for instance in in_flight {
                    self.traces.entry(*instance).and_modify(ToolTrace::interrupt);
                }
            }
            Event::Ended { instance, .. } => {
                self.histories.remove(instance);
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
    /// Keeps the first change of a specialist that a later command can execute.
    fn note_code(&mut self, plan: &Plan, event: &Event) {
        let (instance, path) = match event {
            Event::Recorded { instance, record, .. } => {
                let executed =
                    record.calls().iter().filter(|call| call.purpose == Purpose::Execution);
                let is_new = |change: &&Change| !change.same_content && is_code(&change.path);
                let Some(change) = executed.flat_map(|call| &call.changes).find(is_new) else {
                    return;
                };
                (*instance, Some(change.path.clone()))
            }
            Event::AttemptEnded { instance, failure: Some(failure), .. }
                if failure.code == Code::PATH_PROTECTED =>
            {
                let step = plan.step(self.state.instance(*instance).step).step.id.clone();
                let network = self.code.take().map(|code| code.network).unwrap_or_default();
                self.code = Some(ChangedCode { step, path: None, network, is_protected: true });
                return;
            }
            // The changes of an earlier run are in its own journal.
            Event::Kept { instance, .. } => (*instance, None),
            // A person read the changes.
            Event::Answered { instance, approved: true, .. } => {
                let step = &plan.step(self.state.instance(*instance).step).step;
                if matches!(step.kind, StepKind::Approve(_)) {
                    self.code = None;
                }
                return;
            }
            _ => return,
        };
        let kind = &plan.step(self.state.instance(instance).step).step.kind;
        let network = match self.state.specialist(plan, instance) {
            Some(specialist) if path.is_some() || specialist.writes() => specialist.network,
            // The record of a child run does not say which of its steps changed a file.
            None if matches!(kind, StepKind::Playbook(_)) => NetworkAccess::default(),
            Some(_) | None => return,
        };
        let code = self.code.get_or_insert_with(|| ChangedCode {
            step: plan.step(self.state.instance(instance).step).step.id.clone(),
            path,
            network,
            is_protected: false,
        });
        code.network = wider(code.network, network);
    }
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
