use super::ServiceError;
use super::cuts::with_cuts;
use super::runs::Prepared;
use crate::attempt::Progress;
use crate::clock;
use crate::engine::Update;
use crate::journal::Journal;
use crate::value::{InstanceKey, RunId, StepId};
use crate::wire::{Event, Place, Translator};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Turns what the engine tells into public events, for whoever shows a run as it goes on.
pub struct Watcher {
    run: RunId,
    translator: Translator,
    places: BTreeMap<String, Place>,
    journal: Arc<dyn Journal>,
}

/// Something to show.
#[derive(Debug, Clone, Copy)]
pub enum Seen<'a> {
    /// An event of the run.
    Event(&'a Event),
    /// What an instance is doing; never stored.
    Progress {
        /// Whose.
        instance: &'a InstanceKey,
        /// What.
        progress: &'a Progress,
    },
}

impl Watcher {
    /// For a run that is about to be driven. One that goes on is folded first, so that names, times
    /// and sums are right from its first new event.
    pub fn of(prepared: &Prepared) -> Result<(Watcher, Vec<Event>), ServiceError> {
        let run = prepared.run().clone();
        let mut translator = Translator::new(run.clone(), prepared.plan());
        let mut before = Vec::new();
        let journal = prepared.journal().clone();
        for stored in prepared.before() {
            let event = with_cuts(&journal, &stored.event)?;
            before.extend(translator.translate(stored.seq, stored.at, &event, stored.digest));
        }
        let mut watcher = Watcher { run, translator, places: BTreeMap::new(), journal };
        before.iter().for_each(|event| watcher.remember(event));
        Ok((watcher, before))
    }

    /// Shows what an update says, one by one.
    pub fn see(&mut self, update: Update, show: &mut dyn FnMut(&Watcher, Seen<'_>)) {
        match update {
            Update::Stored(stored) => {
                for stored in &stored {
                    // What cannot be looked up now is missing from the display, not from the journal.
                    let event = with_cuts(&self.journal, &stored.event);
                    let event = event.unwrap_or(Cow::Borrowed(&stored.event));
                    let events =
                        self.translator.translate(stored.seq, stored.at, &event, stored.digest);
                    for event in events {
                        self.remember(&event);
                        show(self, Seen::Event(&event));
                    }
                }
            }
            Update::Progress { instance, progress } => {
                show(self, Seen::Progress { instance: &instance, progress: &progress });
            }
        }
    }

    /// The event for a piece of text that a model just wrote; it is not stored.
    pub fn token(&self, instance: &InstanceKey, text: &str) -> Event {
        let place = self.places.get(&instance.to_string()).cloned();
        let place = place.unwrap_or_else(|| self.unseen(&instance.step));
        Event::token(clock::now(), self.run.clone(), place, text)
    }

    /// The event that says that only people can bring the run on.
    pub fn waiting(&self) -> Option<Event> {
        self.translator.waiting(clock::now())
    }

    fn unseen(&self, step: &StepId) -> Place {
        Place { step: step.clone(), instance: step.as_str().into(), iteration: 1, attempt: None }
    }

    fn remember(&mut self, event: &Event) {
        let starts = matches!(event.body, crate::wire::Body::StepStart { .. });
        if let Some(place) = event.place.as_ref().filter(|_| starts) {
            self.places.insert(place.instance.to_string(), place.clone());
        }
    }
}
