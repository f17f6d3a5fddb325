use super::cuts::with_cuts;
use super::runs::Prepared;
use crate::attempt::Progress;
use crate::clock;
use crate::engine::{Payloads, Update};
use crate::journal::{Journal, StoredEvent};
use crate::value::{InstanceKey, RunId, StepId};
use crate::wire::{Body, Event, InstanceRef, Translator};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many events are read in the journal at once.
const PAGE: u64 = 1024;

/// Turns what the engine tells into public events, for whoever shows a run as it goes on.
pub struct Watcher {
    run: RunId,
    translator: Translator,
    /// Of what runs.
    places: BTreeMap<Arc<str>, InstanceRef>,
    journal: Arc<dyn Journal>,
    payloads: Payloads,
    /// The last event that was shown or was there before.
    seq: u64,
}

/// Something to show.
#[derive(Debug, Clone, Copy)]
pub enum LiveUpdate<'a> {
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
    /// and sums are right from its first new event; `before` is told of what was.
    pub fn of(prepared: &Prepared, before: &mut dyn FnMut(&Event)) -> Watcher {
        let run = prepared.run().clone();
        let translator = Translator::new(run.clone(), prepared.plan().clone());
        let (places, journal) = (BTreeMap::new(), prepared.journal().clone());
        let payloads = Payloads::new(journal.clone());
        let mut watcher = Watcher { run, translator, places, journal, payloads, seq: 0 };
        for stored in prepared.before() {
            watcher.seq = stored.seq;
            watcher.translate(stored).iter().for_each(&mut *before);
        }
        watcher
    }

    /// Shows what an update says, one by one.
    pub fn see(&mut self, update: Update, show: &mut dyn FnMut(&Watcher, LiveUpdate<'_>)) {
        match update {
            Update::Stored(stored) => {
                // An update that found no room has left a gap before this one.
                let before = stored.first().map_or(0, |first| first.seq - 1);
                self.read_up_to(before, show);
                stored.iter().for_each(|stored| self.show(stored, show));
            }
            Update::Progress { instance, progress } => {
                show(self, LiveUpdate::Progress { instance: &instance, progress: &progress });
            }
        }
    }

    /// Shows what was stored up to there and no update told of: it is read in the journal.
    pub fn read_up_to(&mut self, last: u64, show: &mut dyn FnMut(&Watcher, LiveUpdate<'_>)) {
        while self.seq < last {
            let most = (last - self.seq).min(PAGE) as usize;
            let stored = self.journal.read_events(&self.run, self.seq, most).unwrap_or_default();
            if stored.is_empty() {
                // What cannot be read now is missing from the display, not from the journal.
                self.seq = last;
            }
            stored.iter().for_each(|stored| self.show(stored, show));
        }
    }

    fn show(&mut self, stored: &StoredEvent, show: &mut dyn FnMut(&Watcher, LiveUpdate<'_>)) {
        // What was read in the journal may be told of as well.
        if stored.seq <= self.seq {
            return;
        }
        self.seq = stored.seq;
        for event in self.translate(stored) {
            show(self, LiveUpdate::Event(&event));
        }
    }

    fn translate(&mut self, stored: &StoredEvent) -> Vec<Event> {
        let event = with_cuts(&self.payloads, &stored.event);
        let events = self.translator.translate(stored.seq, stored.at, &event, stored.digest);
        events.iter().for_each(|event| self.remember(event));
        events
    }

    /// The event for a piece of text that a model just wrote; it is not stored.
    pub fn token(&self, instance: &InstanceKey, text: &str) -> Event {
        let place = self.places.get(instance.to_string().as_str()).cloned();
        let place = place.unwrap_or_else(|| self.unseen(&instance.step));
        Event::token(clock::now(), self.run.clone(), place, text)
    }

    /// The event that says that only people can bring the run on.
    pub fn waiting(&self) -> Option<Event> {
        self.translator.waiting(clock::now())
    }

    fn unseen(&self, step: &StepId) -> InstanceRef {
        InstanceRef {
            step: step.clone(),
            instance: step.as_str().into(),
            iteration: 1,
            attempt: None,
        }
    }

    fn remember(&mut self, event: &Event) {
        let Some(place) = &event.place else { return };
        match event.body {
            Body::StepStart { .. } => {
                drop(self.places.insert(place.instance.clone(), place.clone()))
            }
            Body::StepEnd { .. } => drop(self.places.remove(&place.instance)),
            _ => {}
        }
    }
}
