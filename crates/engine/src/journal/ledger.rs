//! A run exactly as it is stored, and the verification of its hash chain.

use super::Chain;
use kb_base::value::{Digest, RunId, Timestamp};
use std::fmt;

/// A consistent snapshot of everything stored for a run, not decoded, so that its hash chain can be
/// verified even if the content is damaged.
#[derive(Debug, Clone)]
pub struct Ledger {
    /// Run id.
    pub run: RunId,
    /// Id of the definition.
    pub definition: String,
    /// Start time.
    pub started_at: Timestamp,
    /// Version of `kb` that created the run.
    pub kb_version: String,
    /// Frozen state as the stored text.
    pub frozen: String,
    /// Status in the run's row.
    pub status: String,
    /// End time in the run's row.
    pub ended_at: Option<Timestamp>,
    /// Epoch of the lease in the run's row.
    pub epoch: u64,
    /// Number of the last event in the run's row.
    pub last_seq: u64,
    /// Whether the journal keeps a hash chain of each run. One in memory cannot be changed from outside.
    pub keeps_chain: bool,
    /// Head of the hash chain in the run's row; `None` if it is kept and was removed.
    pub head: Option<Digest>,
    /// Events in order of their numbers.
    pub rows: Vec<LedgerRow>,
}

/// An event as it is stored.
#[derive(Debug, Clone)]
pub struct LedgerRow {
    /// Number of the event.
    pub seq: u64,
    /// Time of the decision.
    pub at: Timestamp,
    /// Epoch of the lease.
    pub epoch: u64,
    /// Event type in the row's own column.
    pub kind: String,
    /// Stored text of the event.
    pub body: Vec<u8>,
    /// Stored digest of the hash chain up to this event.
    pub digest: Option<Digest>,
    /// The blob that contains the event, if the event was too large for its row.
    pub blob: Option<Digest>,
}

/// A position at which a hash chain does not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// Number of the event, or of the missing event.
    pub seq: u64,
    /// Kind of mismatch.
    pub what: BreakKind,
}

/// How a hash chain does not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakKind {
    /// The event is missing and later events exist.
    Missing,
    /// The event was added after the last recorded event.
    Added,
    /// The event, its position, its time or its predecessor was changed.
    Altered,
    /// The type column contradicts the text.
    Mislabelled,
    /// The event has no digest.
    Unlinked,
    /// Events at the end are missing.
    CutOff,
    /// The stored head of the run is not the digest of its last event.
    OtherHead,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seq = self.seq;
        match self.what {
            BreakKind::Missing => write!(f, "event {seq} is missing"),
            BreakKind::Added => write!(f, "event {seq} is one more than was recorded"),
            BreakKind::Altered if seq == 1 => {
                write!(f, "event 1, or what the run was started with, is not what was recorded")
            }
            BreakKind::Altered => write!(f, "event {seq} is not what was recorded there"),
            BreakKind::Mislabelled => write!(f, "event {seq} is listed as one of another type"),
            BreakKind::Unlinked => write!(f, "event {seq} has no link of the hash chain"),
            BreakKind::CutOff => write!(f, "the events from {seq} on were cut off"),
            BreakKind::OtherHead => {
                write!(f, "the head that is kept for the run is not that of its last event, {seq}")
            }
        }
    }
}

impl Ledger {
    /// Whether anything of the hash chain is left.
    pub fn has_chain(&self) -> bool {
        self.head.is_some() || self.rows.iter().any(|row| row.digest.is_some())
    }

    /// Number of the event with this digest; 0 for the digest before the first event.
    pub fn find_head(&self, head: Digest) -> Option<u64> {
        if self.begin().head() == head {
            return Some(0);
        }
        self.rows.iter().find(|row| row.digest == Some(head)).map(|row| row.seq)
    }

    fn begin(&self) -> Chain {
        let Ledger { run, definition, started_at, kb_version, frozen, .. } = self;
        Chain::begin(run, definition, *started_at, kb_version, frozen)
    }

    /// The first mismatch of the ends of the chain: what the run was started with, its first and its last event. The
    /// events between them are not needed.
    pub fn break_of_ends(&self) -> Option<Break> {
        let (first, last) = (self.rows.first()?, self.rows.last()?);
        let computed = self.begin().add(first.at, first.epoch, &first.body);
        let found = |seq, what| Some(Break { seq, what });
        match () {
            () if first.seq != 1 => found(1, BreakKind::Missing),
            () if first.digest != Some(computed) => found(1, BreakKind::Altered),
            () if last.seq > self.last_seq => found(last.seq, BreakKind::Added),
            () if last.seq < self.last_seq => found(last.seq + 1, BreakKind::CutOff),
            () if last.digest != self.head => found(last.seq, BreakKind::OtherHead),
            () => None,
        }
    }

    /// All mismatches in order. After a mismatch, the check continues from the stored digest, so that
    /// one change is reported once.
    pub fn breaks(&self) -> Vec<Break> {
        let mut breaks = Vec::new();
        let mut chain = self.begin();
        for row in &self.rows {
            let next = chain.seq() + 1;
            let computed = Chain::at(row.seq - 1, chain.head()).add(row.at, row.epoch, &row.body);
            let found = match row.digest {
                _ if row.seq > self.last_seq => Some((row.seq, BreakKind::Added)),
                // The event after a gap cannot match; only the gap is reported.
                _ if row.seq != next => Some((next, BreakKind::Missing)),
                None => Some((row.seq, BreakKind::Unlinked)),
                Some(stored) if stored != computed => Some((row.seq, BreakKind::Altered)),
                Some(_) if row.kind.as_bytes() != event_type(&row.body) => {
                    Some((row.seq, BreakKind::Mislabelled))
                }
                Some(_) => None,
            };
            breaks.extend(found.map(|(seq, what)| Break { seq, what }));
            if row.seq <= self.last_seq {
                chain = Chain::at(row.seq, row.digest.unwrap_or(computed));
            }
        }
        if chain.seq() < self.last_seq {
            breaks.push(Break { seq: chain.seq() + 1, what: BreakKind::CutOff });
        } else if self.head != Some(chain.head()) {
            breaks.push(Break { seq: chain.seq(), what: BreakKind::OtherHead });
        }
        breaks
    }
}

/// The type of an event by its text. The tag is always written first.
pub(super) fn event_type(body: &[u8]) -> &[u8] {
    let rest = body.strip_prefix(b"{\"type\":\"".as_slice());
    rest.and_then(|rest| rest.split(|byte| *byte == b'"').next()).unwrap_or(b"unknown")
}
