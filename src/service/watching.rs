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
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // One at a time, on its way to a display.
pub enum Seen {
    /// An event of the run.
    Event(Box<Event>),
    /// What an instance is doing; never stored.
    Progress {
        /// Whose.
        instance: InstanceKey,
        /// What.
        progress: Progress,
    },
}

impl Watcher {
    /// For a run that is about to be driven. One that goes on is folded first, so that names, times
    /// and sums are right from its first new event.
    pub fn of(prepared: &Prepared) -> Result<(Watcher, Vec<Event>), ServiceError> {
        let run = prepared.run().clone();
        let mut translator = Translator::new(run.clone(), prepared.plan());
        let mut before = Vec::new();
        let journal: Arc<dyn Journal> = prepared.place().journal(Default::default())?;
        if !prepared.begins() {
            for stored in journal.events(&run, 0)? {
                let event = with_cuts(&journal, &stored.event)?;
                before.extend(translator.translate(stored.seq, stored.at, &event, stored.digest));
            }
        }
        let mut watcher = Watcher { run, translator, places: BTreeMap::new(), journal };
        before.iter().for_each(|event| watcher.remember(event));
        Ok((watcher, before))
    }

    /// What an update says.
    pub fn see(&mut self, update: Update) -> Vec<Seen> {
        match update {
            Update::Stored(stored) => {
                // What cannot be looked up now is missing from the display, not from the journal.
                let event = with_cuts(&self.journal, &stored.event);
                let event = event.unwrap_or(Cow::Borrowed(&stored.event));
                let events =
                    self.translator.translate(stored.seq, stored.at, &event, stored.digest);
                events.iter().for_each(|event| self.remember(event));
                events.into_iter().map(|event| Seen::Event(Box::new(event))).collect()
            }
            Update::Progress { instance, progress } => vec![Seen::Progress { instance, progress }],
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
