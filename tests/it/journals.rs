//! What tests of journals share: runs, events, and masked values.

use kb::journal::{Batch, EventLog, JournalError, NewRun};
use kb::redaction::{Masked, Redactor};
use kb::run::{Event, InstanceIx};
use kb::value::{Json, RunId, Timestamp};
use serde_json::json;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// Waits for a future of a journal, inside or outside of a runtime.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// An event, masked by a redactor without secrets.
pub(crate) fn masked_event(event: Event) -> Masked<Event> {
    masked_json(json!(event)).map(|json| serde_json::from_value(json).unwrap())
}

/// A value, masked by a redactor without secrets.
pub(crate) fn masked_json(value: Json) -> Masked<Json> {
    Redactor::default().mask(value)
}

/// A text, masked by a redactor without secrets.
pub(crate) fn masked_text(text: &str) -> Masked<String> {
    Redactor::default().mask(text.to_owned())
}

pub(crate) fn id(text: &str) -> RunId {
    RunId::new(text).unwrap()
}

pub(crate) fn new_run(run: &str, at: i64) -> NewRun {
    let frozen = masked_json(json!({"z": 1, "a": [run]}));
    NewRun { run: id(run), definition: "demo".into(), at: Timestamp(at), frozen }
}

pub(crate) fn started(instance: u32) -> Event {
    Event::Started { instance: InstanceIx(instance), attempt: 1 }
}

pub(crate) fn append<J: EventLog + ?Sized>(
    journal: &J,
    run: &str,
    epoch: u64,
    expected: u64,
    events: &[Event],
) -> Result<u64, JournalError> {
    let at = Timestamp(1000 + expected as i64);
    let events: Vec<Masked<Event>> = events.iter().cloned().map(masked_event).collect();
    wait(journal.append(&id(run), epoch, Batch::after(expected, at, &events)))
}
