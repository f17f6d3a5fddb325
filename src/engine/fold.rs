use crate::evidence::{Invocation, Record};
use crate::journal::StoredEvent;
use crate::plan::Plan;
use crate::run::{Event, InstanceIx, Rules, State};
use std::collections::BTreeMap;

/// A journal read back: the state, and what live instances had recorded.
#[derive(Debug, Clone)]
pub struct Folded {
    /// Where the run stands.
    pub state: State,
    /// The last seq.
    pub seq: u64,
    /// The evidence of instances that have not ended, over all attempts of their iteration.
    pub traces: BTreeMap<InstanceIx, Vec<Invocation>>,
    /// What the attempts under way had recorded.
    pub histories: BTreeMap<InstanceIx, Vec<Record>>,
}

impl Folded {
    /// The state before the first event.
    pub fn empty(plan: &Plan, rules: Rules) -> Self {
        let state = State::new(plan, rules);
        Folded { state, seq: 0, traces: BTreeMap::new(), histories: BTreeMap::new() }
    }

    /// Everything that these events add up to.
    pub fn of(plan: &Plan, rules: Rules, events: &[StoredEvent]) -> Self {
        let mut folded = Folded::empty(plan, rules);
        for stored in events {
            folded.state.apply(plan, stored.at, &stored.event);
            folded.note(&stored.event);
            folded.seq = stored.seq;
        }
        folded
    }

    /// Keeps the evidence of what has not ended.
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::Recorded { instance, record, .. } => {
                if let Record::ToolResult { invocation, .. } = &**record {
                    // Gates ask what changed, not how: the texts stay in the journal.
                    let mut invocation = invocation.clone();
                    invocation.changes.iter_mut().for_each(|change| change.diff = None);
                    self.traces.entry(*instance).or_default().push(invocation);
                }
                // What a gate saw is for whoever checks its verdict; no attempt goes on from it.
                if !matches!(**record, Record::Observed { .. }) {
                    let mut record = (**record).clone();
                    // A resumed attempt does not read prompts.
                    if let Record::ModelCall { prompt, .. } = &mut record {
                        *prompt = None;
                    }
                    self.histories.entry(*instance).or_default().push(record);
                }
            }
            Event::Started { instance, .. } | Event::AttemptEnded { instance, .. } => {
                self.histories.remove(instance);
            }
            Event::Ended { instance, .. } => {
                self.histories.remove(instance);
                self.traces.remove(instance);
            }
            Event::Reset { closure, .. } => closure.iter().for_each(|instance| {
                self.histories.remove(instance);
                self.traces.remove(instance);
            }),
            _ => {}
        }
    }
}
