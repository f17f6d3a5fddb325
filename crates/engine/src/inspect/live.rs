//! The public events of a run while it executes, for displays.

use super::streams::{stream_texts, with_process_facts};
use crate::engine::{Payloads, Update};
use crate::journal::{Journal, StoredEvent};
use kb_attempt::Progress;
use kb_base::value::{InstanceKey, RunId, StepId};
use kb_clock::RunClock;
use kb_core::redaction::Masked;
use kb_core::run;
use kb_core::wire::{Body, Event, InstanceRef, Translator};
use kb_language::plan::Plan;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of events that one read loads into memory.
const PAGE: u64 = 256;

/// Turns the engine's updates about one run into public events.
pub struct LiveReader {
    run: RunId,
    translator: Translator,
    /// The running step instances that do not wait for a person, by name.
    running: BTreeMap<Arc<str>, InstanceRef>,
    journal: Arc<dyn Journal>,
    payloads: Payloads,
    clock: RunClock,
    /// Number of the last event that was shown or existed before.
    seq: u64,
}

/// One update for a display.
#[derive(Debug, Clone, Copy)]
pub enum LiveUpdate<'a> {
    /// An event of the run.
    Event(&'a Event),
    /// Current activity of a step instance; it is not stored.
    Progress {
        /// The step instance.
        instance: &'a InstanceKey,
        /// What it did last, such as a line of output.
        progress: &'a Masked<Progress>,
    },
    /// Stored output of the process of an attempt; the end of the attempt follows.
    Output {
        /// Name of the step instance.
        instance: &'a str,
        /// `stdout` or `stderr`.
        channel: &'static str,
        /// The text, as far as it was stored.
        text: &'a str,
    },
}

impl LiveReader {
    /// A reader for a run that is about to be driven. The events in `before` are translated first,
    /// so that names, times and totals are right from the first new event; `replayed` receives them.
    pub fn new(
        run: RunId,
        plan: Arc<Plan>,
        journal: Arc<dyn Journal>,
        clock: RunClock,
        before: &[StoredEvent],
        replayed: &mut dyn FnMut(&Event),
    ) -> LiveReader {
        let translator = Translator::new(run.clone(), plan);
        let payloads = Payloads::new(journal.clone());
        let running = BTreeMap::new();
        let mut reader = LiveReader { run, translator, running, journal, payloads, clock, seq: 0 };
        for stored in before {
            reader.seq = stored.seq;
            reader.translate(stored).iter().for_each(&mut *replayed);
        }
        reader
    }

    /// Passes an update of the engine to `show`, as one or more public updates.
    pub fn see(&mut self, update: Update, show: &mut dyn FnMut(&LiveReader, LiveUpdate<'_>)) {
        match update {
            Update::Stored(stored) => {
                // Updates that did not fit into the channel leave a gap before this one.
                let before = stored.first().map_or(0, |first| first.seq - 1);
                self.read_up_to(before, show);
                stored.iter().for_each(|stored| self.show(stored, show));
            }
            Update::Progress { instance, progress } => {
                show(self, LiveUpdate::Progress { instance: &instance, progress: &progress });
            }
        }
    }

    /// Reads the events up to `last` that no update contained from the journal.
    pub fn read_up_to(&mut self, last: u64, show: &mut dyn FnMut(&LiveReader, LiveUpdate<'_>)) {
        while self.seq < last {
            let most = (last - self.seq).min(PAGE) as usize;
            let stored = self.journal.read_events(&self.run, self.seq, most).unwrap_or_default();
            if stored.is_empty() {
                // An event that cannot be read is missing from the display only.
                self.seq = last;
            }
            stored.iter().for_each(|stored| self.show(stored, show));
        }
    }

    fn show(&mut self, stored: &StoredEvent, show: &mut dyn FnMut(&LiveReader, LiveUpdate<'_>)) {
        // An event that was read from the journal can arrive as an update as well.
        if stored.seq <= self.seq {
            return;
        }
        self.seq = stored.seq;
        self.show_output(stored, show);
        for event in self.translate(stored) {
            show(self, LiveUpdate::Event(&event));
        }
    }

    /// Shows the output of a process before the event that its attempt ended, as in a log.
    fn show_output(&self, stored: &StoredEvent, show: &mut dyn FnMut(&LiveReader, LiveUpdate<'_>)) {
        let run::Event::AttemptEnded { instance, streams: Some(streams), .. } = &*stored.event
        else {
            return;
        };
        // Output that cannot be read is missing from the display only.
        let Ok(streams) = self.payloads.load(streams) else { return };
        let Some(place) = self.translator.place(*instance) else { return };
        for (channel, text) in stream_texts(&streams) {
            let (instance, text) = (&*place.instance, text.as_str());
            show(self, LiveUpdate::Output { instance, channel, text });
        }
    }

    fn translate(&mut self, stored: &StoredEvent) -> Vec<Event> {
        let event = with_process_facts(&self.payloads, &stored.event);
        let events = self.translator.translate(stored.seq, stored.at, &event, stored.digest);
        events.iter().for_each(|event| self.track(event));
        events
    }

    /// The event for a piece of model text, if that is the progress; it is not stored.
    pub fn token(&self, instance: &InstanceKey, progress: &Masked<Progress>) -> Option<Event> {
        let text = progress.clone().map(Progress::into_token).transpose()?;
        let place = self.running.get(instance.to_string().as_str()).cloned();
        let place = place.unwrap_or_else(|| not_started(&instance.step));
        Some(Event::token(self.clock.now(), self.run.clone(), place, text))
    }

    /// The event that the run waits for people only, if it does.
    pub fn waiting(&self) -> Option<Event> {
        self.translator.waiting(self.clock.now())
    }

    fn track(&mut self, event: &Event) {
        let Some(place) = &event.place else { return };
        match event.body {
            Body::StepStart { .. } | Body::AskAnswered { .. } => {
                drop(self.running.insert(place.instance.clone(), place.clone()));
            }
            Body::StepEnd { .. } | Body::AskOpened(_) => drop(self.running.remove(&place.instance)),
            _ => {}
        }
    }
}

fn not_started(step: &StepId) -> InstanceRef {
    InstanceRef { step: step.clone(), instance: step.as_str().into(), iteration: 1, attempt: None }
}
