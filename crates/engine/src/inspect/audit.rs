//! The audit of a recorded run: its hash chain, its blobs and its gate verdicts are checked from the
//! journal alone. The workspace is not read. Start at [`audit`].

use super::{Frozen, InspectError, find_run};
use crate::journal::{Journal, Ledger};
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Json, read_back};
use kb_core::evidence::{Handoff, Payload, Record};
use kb_core::run::{Event, RunStatus};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

mod kept;
mod replay;

/// The result of an audit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Audit {
    /// The run that was audited.
    pub run: String,
    /// Whether the audit found no fault.
    pub holds: bool,
    /// Number of stored events.
    pub events: u64,
    /// Head of the hash chain; null where the run has none.
    #[schemars(with = "Option<String>")]
    pub head: Option<Digest>,
    /// Number of blobs that exist and match their digest.
    pub blobs: u64,
    /// Total size of these blobs, in bytes.
    pub blob_bytes: u64,
    /// Number of verdicts that the recorded observations reproduce.
    pub verdicts: u64,
    /// Number of verdicts without recorded observations: the gate could not observe anything, or an
    /// older `kb` did not record them.
    pub without_basis: u64,
    /// Number of results that were kept of an earlier run and that its record confirms.
    #[serde(skip_serializing_if = "is_zero")]
    pub kept: u64,
    /// Number of results that were kept of a run that has been removed since.
    #[serde(skip_serializing_if = "is_zero")]
    pub kept_of_removed: u64,
    /// Every fault, in the order of the checks.
    pub faults: Vec<Fault>,
}

/// A problem in a recorded run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// A stable code; `kb explain CODE` shows its page.
    #[schemars(with = "String")]
    pub code: Code,
    /// Number of the event with the problem; absent if the problem is not in one event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Description of the problem.
    pub message: String,
}

/// Audits a run. `kept` is a head of its hash chain that was stored elsewhere, such as `traceHead`
/// of its `run:end`; with it, a chain that was recomputed as a whole is detected too.
pub fn audit(
    journal: &Arc<dyn Journal>,
    name: &str,
    kept: Option<Digest>,
) -> Result<Audit, InspectError> {
    let run = find_run(&**journal, name)?;
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
        kept: 0,
        kept_of_removed: 0,
        faults: Vec::new(),
    };
    audit.chain(&ledger, kept);
    let events = audit.read(&**journal, &ledger);
    audit.row(&ledger, &events);
    audit.blobs(&**journal, &events);
    audit.kept(&**journal, &events);
    match frozen_of(&ledger, &events) {
        Ok(frozen) => audit.verdicts(journal, &frozen, &events),
        Err(message) => audit.fault(Code::RECORD_INCONSISTENT, Some(1), message),
    }
    audit.holds = audit.faults.is_empty();
    Ok(audit)
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The stored definitions, if their digest is the one that the run started with.
fn frozen_of(ledger: &Ledger, events: &[(u64, Event)]) -> Result<Frozen, String> {
    let unreadable = |error| format!("the stored definitions cannot be read: {error}");
    let json: Json = read_back(&ledger.frozen).map_err(unreadable)?;
    let began = events.iter().find_map(|(_, event)| match event {
        Event::RunStarted { digest, .. } => Some(*digest),
        _ => None,
    });
    if began.is_some_and(|digest| digest != Digest::of_json(&json)) {
        return Err("the stored definitions are not the ones that the run started with".to_owned());
    }
    serde_json::from_value(json).map_err(unreadable)
}

impl Audit {
    fn fault(&mut self, code: Code, seq: Option<u64>, message: impl Into<String>) {
        self.faults.push(Fault { code, seq, message: message.into() });
    }

    fn chain(&mut self, ledger: &Ledger, kept: Option<Digest>) {
        if !ledger.has_chain() {
            let message = "the run has no hash chain: it was removed";
            return self.fault(Code::NO_CHAIN, None, message);
        }
        for broken in ledger.breaks() {
            self.fault(Code::CHAIN_BROKEN, Some(broken.seq), broken.to_string());
        }
        if let Some(kept) = kept.filter(|kept| ledger.find_head(*kept).is_none()) {
            let message = format!("no event of the run has the stored head `{kept}`");
            self.fault(Code::CHAIN_BROKEN, None, message);
        }
    }

    /// Reads all events; one that cannot be read is a fault.
    fn read(&mut self, journal: &dyn Journal, ledger: &Ledger) -> Vec<(u64, Event)> {
        let mut events = Vec::with_capacity(ledger.rows.len());
        for row in &ledger.rows {
            let text = match row.blob {
                Some(digest) => self.blob(journal, row.seq, &digest).map(Cow::Owned),
                None => Some(Cow::Borrowed(&row.body[..])),
            };
            // `blob` has reported the missing blob, and with it the event.
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

    /// Compares the row in the list of runs, which no chain covers, with the events.
    fn row(&mut self, ledger: &Ledger, events: &[(u64, Event)]) {
        let last = events.iter().rev().find_map(|(seq, event)| match event {
            Event::RunEnded { status, .. } => Some((*seq, Some(status.as_str()))),
            Event::Reset { .. } | Event::RunResumed { .. } => Some((*seq, None)),
            _ => None,
        });
        let ended = last.and_then(|(_, status)| status);
        let listed_as_ended = RunStatus::parse(&ledger.status).is_some_and(RunStatus::has_ended);
        let fits = match ended {
            Some(status) => status == ledger.status,
            None => !listed_as_ended,
        };
        if !fits {
            let ended = ended.unwrap_or("not ended");
            let message =
                format!("the run is listed as {}, but its events say {ended}", ledger.status);
            self.fault(Code::RECORD_INCONSISTENT, last.map(|(seq, _)| seq), message);
        }
        let at = |seq: u64| ledger.rows.iter().find(|row| row.seq == seq).map(|row| row.at);
        let ended_at = last.filter(|(_, status)| status.is_some()).and_then(|(seq, _)| at(seq));
        if fits && ledger.ended_at != ended_at {
            let message = "the run is listed with another end time than its events say";
            self.fault(Code::RECORD_INCONSISTENT, last.map(|(seq, _)| seq), message);
        }
        // An owner that was killed before its first event has raised the epoch too.
        if let Some(row) = ledger.rows.last().filter(|row| row.epoch > ledger.epoch) {
            let message = format!(
                "the run is listed with epoch {}, but event {} has epoch {}",
                ledger.epoch, row.seq, row.epoch
            );
            self.fault(Code::RECORD_INCONSISTENT, Some(row.seq), message);
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

    /// Reads and counts a blob; one that is missing or damaged is a fault.
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

/// The values of an event that can be stored in a blob. All fields are listed, so that a new field
/// does not compile until it is considered here.
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
            handoff,
        } => output.iter().chain(streams).chain(artifacts(handoff)).collect(),
        Event::Expanded { items, instance: _, first: _, keys: _, keyed: _ } => vec![items],
        Event::Ended { output, instance: _, status: _, tolerated: _, failure: _ } => {
            output.iter().collect()
        }
        Event::Answered { answer: Some(answer), .. } => vec![answer],
        Event::Kept { kept, instance: _ } => {
            kept.output.iter().chain(&kept.streams).chain(artifacts(&kept.handoff)).collect()
        }
        Event::RunEnded { outputs, status: _, failure: _ } => vec![outputs],
        Event::RunStarted { definition: _, digest: _, params: _, environment: _ }
        | Event::RunResumed { .. }
        | Event::Evaluated { .. }
        | Event::Ready { .. }
        | Event::Started { .. }
        | Event::Continued { .. }
        | Event::Exchanged { .. }
        | Event::Judged { instance: _, attempt: _, verification: _ }
        | Event::Recovered { .. }
        | Event::Waiting { .. }
        | Event::TimerSet { .. }
        | Event::PassEnded { .. }
        | Event::Asked { .. }
        | Event::Merging { .. }
        | Event::Merged { instance: _, trees: _ }
        | Event::Answered { answer: None, .. }
        | Event::Reset { .. }
        | Event::SentBack { .. }
        | Event::Skipped { .. }
        | Event::PlanRevised { .. }
        | Event::CancelRequested { .. }
        | Event::TimedOut { .. }
        | Event::Draining { .. } => Vec::new(),
    }
}

fn artifacts(handoff: &Option<Box<Handoff>>) -> impl Iterator<Item = &Payload> {
    handoff.iter().flat_map(|handoff| &handoff.artifacts).map(|artifact| &artifact.content)
}

fn record_payloads(record: &Record) -> Vec<&Payload> {
    match record {
        Record::ModelCall { text, prompt, reasoning, .. } => {
            let parts = prompt.iter().flat_map(|prompt| prompt.parts());
            [text]
                .into_iter()
                .chain(reasoning)
                .chain(parts.filter_map(|part| part.content.as_ref()))
                .collect()
        }
        Record::ToolCall { args, .. } => vec![args],
        Record::ToolResult { result, .. } => vec![result],
        Record::Observed { basis } => vec![basis],
        Record::Output { parts, .. } => vec![parts],
        Record::Compression { .. }
        | Record::Reservation { .. }
        | Record::BudgetWarning { .. }
        | Record::Phase { .. }
        | Record::Recall { .. }
        | Record::Delegate { .. }
        | Record::DelegateEnded { .. }
        | Record::Approval { .. }
        | Record::ChildRun { .. }
        | Record::ChildRunEnded { .. }
        | Record::CacheHit(_)
        | Record::Note(_) => Vec::new(),
    }
}
