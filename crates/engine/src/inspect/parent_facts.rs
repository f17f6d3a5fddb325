//! What the parent of a child run knows of the files that both use, read from its journal.

use super::Frozen;
use super::InspectError;
use crate::engine::Folded;
use crate::journal::Journal;
use kb_attempt::{Live, ParentFacts, run_blocking};
use kb_base::value::{RunId, StepId, Timestamp};
use kb_core::run::{InstanceIx, Rules};
use kb_language::plan::{Plan, Touched};
use std::sync::{Arc, Mutex, PoisonError};

/// What the run knows that executes this one as a child run; `None` if there is none. Each question reads the events
/// that the journal of the parent has since the last one.
pub fn parent_facts(journal: &Arc<dyn Journal>, frozen: &Frozen) -> Option<Live<ParentFacts>> {
    let parent = frozen.parent.clone()?;
    let journal = journal.clone();
    let reading: Mutex<Option<Reading>> = Mutex::default();
    Some(Live::of(move || {
        run_blocking(|| {
            let mut reading = reading.lock().unwrap_or_else(PoisonError::into_inner);
            let found = match reading.take() {
                Some(open) => Ok(open),
                None => Reading::open(&journal, &parent.run, &parent.instance),
            };
            let asked = found.and_then(|mut open| Ok((open.ask(&*journal)?, open)));
            match asked {
                Ok((facts, open)) => {
                    *reading = Some(open);
                    facts
                }
                Err(_) => unknown(),
            }
        })
    }))
}

/// The events of a parent, as far as they were read.
struct Reading {
    run: RunId,
    plan: Arc<Plan>,
    instance: String,
    found: Option<InstanceIx>,
    folded: Folded,
}

impl Reading {
    fn open(
        journal: &Arc<dyn Journal>,
        run: &RunId,
        instance: &str,
    ) -> Result<Reading, InspectError> {
        let frozen = Frozen::of_run(&**journal, run)?;
        let (_, plan) = frozen.load()?;
        let known = (frozen.facts.clone(), parent_facts(journal, &frozen));
        let folded = Folded::since(known, &plan, Rules::default(), &[]);
        let (run, instance, found) = (run.clone(), instance.to_owned(), None);
        Ok(Reading { run, plan, instance, found, folded })
    }

    fn ask(&mut self, journal: &dyn Journal) -> Result<ParentFacts, InspectError> {
        let events = journal.events(&self.run, self.folded.seq)?;
        self.folded.add(&self.plan, &events);
        let state = &self.folded.state;
        let is_it = |ix: &InstanceIx| state.key(&self.plan, *ix).to_string() == self.instance;
        self.found = self.found.or_else(|| state.instances().map(|(ix, _)| ix).find(is_it));
        // The step that executes the child run is in the journal before the child run.
        let Some(found) = self.found else { return Ok(unknown()) };
        let step = state.instance(found).step;
        Ok(self.folded.known.for_child(&self.plan, step, found).now())
    }
}

/// A parent that cannot be read counts as one whose steps could write.
fn unknown() -> ParentFacts {
    let touched = StepId::new("unknown").ok().map(Touched::by);
    ParentFacts { touched, changed: Timestamp(i64::MAX), is_changing: true }
}
