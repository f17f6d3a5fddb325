//! Whether what is recorded of a run still holds: the hash chain, the blobs, the verdicts. From the
//! journal alone; the workspace is not looked at.

use super::inspect::find_run;
use super::runs::Frozen;
use super::{Project, ServiceError};
use crate::diagnostic::Code;
use crate::evidence::{Payload, Record};
use crate::journal::{Journal, Ledger};
use crate::run::{Event, RunStatus};
use crate::value::{Digest, Json, read_back};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeSet;

mod replay;

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Audit {
    /// The run's id.
    pub run: String,
    /// Whether everything holds.
    pub holds: bool,
    /// Stored events.
    pub events: u64,
    /// Head of the hash chain; null where the run has none.
    pub head: Option<Digest>,
    /// Blobs that are there and whole.
    pub blobs: u64,
    /// Their bytes.
    pub blob_bytes: u64,
    /// Verdicts that were found again from what was recorded.
    pub verdicts: u64,
    /// Verdicts whose gate could not look, or that a `kb` from before did not keep the basis of.
    pub without_basis: u64,
    /// What does not hold, in the order in which it was found.
    pub faults: Vec<Fault>,
}

/// Something that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// A stable code.
    pub code: &'static str,
    /// The event that it is about, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// What.
    pub message: String,
}

/// Checks a run. `kept` is a head of its chain that somebody kept elsewhere, such as `traceHead`
/// of its `run:end`: with it, a chain that was computed anew is told too.
pub fn audit_run(
    project: &Project,
    name: &str,
    kept: Option<Digest>,
) -> Result<Audit, ServiceError> {
    let journal = project.context.journal(Default::default())?;
    let run = find_run(&*journal, name)?;
    let ledger = journal.ledger(&run)?;
    let mut audit = Audit {
        run: run.to_string(),
        holds: true,
        events: ledger.rows.len() as u64,
        head: ledger.head,
        blobs: 0,
        blob_bytes: 0,
        verdicts: 0,
        without_basis: 0,
        faults: Vec::new(),
    };
    audit.chain(&ledger, kept);
    let events = audit.read(&*journal, &ledger);
    audit.row(&ledger, &events);
    audit.blobs(&*journal, &events);
    match frozen_of(&ledger, &events) {
        Ok(frozen) => audit.verdicts(&journal, &frozen, &events),
        Err(message) => audit.fault(Code::RECORD_INCONSISTENT, Some(1), message),
    }
    audit.holds = audit.faults.is_empty();
    Ok(audit)
}

/// What is frozen, where it is what the run began with.
fn frozen_of(ledger: &Ledger, events: &[(u64, Event)]) -> Result<Frozen, String> {
    let unreadable = |error| format!("what the run froze cannot be read: {error}");
    let json: Json = read_back(&ledger.frozen).map_err(unreadable)?;
    let began = events.iter().find_map(|(_, event)| match event {
        Event::RunStarted { digest, .. } => Some(*digest),
        _ => None,
    });
    if began.is_some_and(|digest| digest != Digest::of_json(&json)) {
        return Err("what the run froze is not what it began with".to_owned());
    }
    serde_json::from_value(json).map_err(unreadable)
}

impl Audit {
    fn fault(&mut self, code: Code, seq: Option<u64>, message: impl Into<String>) {
        self.faults.push(Fault { code: code.as_str(), seq, message: message.into() });
    }

    fn chain(&mut self, ledger: &Ledger, kept: Option<Digest>) {
        if !ledger.has_chain() {
            let message = "the run has no hash chain: a `kb` from before it recorded the run, or \
                           the chain was taken out";
            return self.fault(Code::NO_CHAIN, None, message);
        }
        for broken in ledger.breaks() {
            self.fault(Code::CHAIN_BROKEN, Some(broken.seq), broken.to_string());
        }
        if let Some(kept) = kept.filter(|kept| ledger.find_head(*kept).is_none()) {
            let message = format!("no event of the run has the head `{kept}` that was kept");
            self.fault(Code::CHAIN_BROKEN, None, message);
        }
    }

    /// The events that can be read.
    fn read(&mut self, journal: &dyn Journal, ledger: &Ledger) -> Vec<(u64, Event)> {
        let mut events = Vec::with_capacity(ledger.rows.len());
        for row in &ledger.rows {
            let text = match row.blob {
                Some(digest) => self.blob(journal, row.seq, &digest).map(Cow::Owned),
                None => Some(Cow::Borrowed(&row.body[..])),
            };
            // What is said of a lost blob says it of the event.
            let Some(text) = text else { continue };
            match event_in(&text) {
                Ok(event) => events.push((row.seq, event)),
                Err(error) => {
                    let message = format!("event {} cannot be read: {error}", row.seq);
                    self.fault(Code::RECORD_INCONSISTENT, Some(row.seq), message);
                }
            }
        }
        events
    }

    /// The row of the run, which no chain covers, says where its events say that it stands.
    fn row(&mut self, ledger: &Ledger, events: &[(u64, Event)]) {
        let last = events.iter().rev().find_map(|(seq, event)| match event {
            Event::RunEnded { status, .. } => Some((*seq, Some(status.as_str()))),
            Event::Reset { .. } | Event::RunResumed { .. } => Some((*seq, None)),
            _ => None,
        });
        let ended = last.and_then(|(_, status)| status);
        let told = RunStatus::parse(&ledger.status).is_some_and(RunStatus::has_ended);
        let fits = match ended {
            Some(status) => status == ledger.status,
            None => !told,
        };
        if !fits {
            let ended = ended.unwrap_or("not ended");
            let message =
                format!("the run is listed as {}, and by its events it is {ended}", ledger.status);
            self.fault(Code::RECORD_INCONSISTENT, last.map(|(seq, _)| seq), message);
        }
    }

    fn blobs(&mut self, journal: &dyn Journal, events: &[(u64, Event)]) {
        let mut known = BTreeSet::new();
        for (seq, event) in events {
            for payload in payloads(event) {
                let Payload::Blob { digest, .. } = payload else { continue };
                if !known.insert(*digest) {
                    continue;
                }
                self.blob(journal, *seq, digest);
            }
        }
    }

    /// A blob, where it is there and whole.
    fn blob(&mut self, journal: &dyn Journal, seq: u64, digest: &Digest) -> Option<Vec<u8>> {
        match journal.blob(digest) {
            Ok(bytes) => {
                self.blobs += 1;
                self.blob_bytes += bytes.len() as u64;
                Some(bytes)
            }
            Err(error) => {
                let message = format!("{error} (event {seq} refers to it)");
                self.fault(Code::BLOB_DAMAGED, Some(seq), message);
                None
            }
        }
    }
}

fn event_in(text: &[u8]) -> Result<Event, String> {
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    read_back(text).map_err(|error| error.to_string())
}

/// Everything of an event that may lie in a blob. Every field is named, so that a new one asks to be
/// looked at here.
fn payloads(event: &Event) -> Vec<&Payload> {
    match event {
        Event::Recorded { record, instance: _, attempt: _ } => record_payloads(record),
        Event::AttemptEnded {
            output,
            streams,
            instance: _,
            attempt: _,
            outcome: _,
            failure: _,
            usage: _,
        } => output.iter().chain(streams).collect(),
        Event::Expanded { items, instance: _, first: _, keys: _, keyed: _ } => vec![items],
        Event::Ended { output, instance: _, status: _, tolerated: _, failure: _ } => {
            output.iter().collect()
        }
        Event::Answered { answer: Some(answer), .. } => vec![answer],
        Event::RunEnded { outputs, status: _, failure: _ } => vec![outputs],
        Event::RunStarted { definition: _, digest: _, params: _, environment: _ }
        | Event::RunResumed { .. }
        | Event::Evaluated { .. }
        | Event::Ready { .. }
        | Event::Started { .. }
        | Event::Judged { instance: _, attempt: _, verification: _ }
        | Event::Recovered { .. }
        | Event::Waiting { .. }
        | Event::TimerSet { .. }
        | Event::Asked { .. }
        | Event::Answered { answer: None, .. }
        | Event::Reset { .. }
        | Event::CancelRequested { .. }
        | Event::TimedOut { .. }
        | Event::Draining { .. } => Vec::new(),
    }
}

fn record_payloads(record: &Record) -> Vec<&Payload> {
    match record {
        Record::ModelCall { text, prompt, .. } => {
            let parts = prompt.iter().flat_map(|prompt| prompt.parts());
            [text].into_iter().chain(parts.filter_map(|part| part.content.as_ref())).collect()
        }
        Record::ToolCall { args, .. } => vec![args],
        Record::ToolResult { result, .. } => vec![result],
        Record::Observed { basis } => vec![basis],
        Record::Compression { .. } | Record::Note { .. } => Vec::new(),
    }
}
