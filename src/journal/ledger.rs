use super::Chain;
use crate::value::{Digest, RunId, Timestamp};
use std::fmt;

/// Everything that is stored of a run, read at one moment and exactly as it is stored, so that it
/// can be held against its hash chain even where it makes no sense any more.
#[derive(Debug, Clone)]
pub struct Ledger {
    /// The run's id.
    pub run: RunId,
    /// The definition's id.
    pub definition: String,
    /// When it began.
    pub started_at: Timestamp,
    /// The version of `kb` that began it.
    pub kb_version: String,
    /// The text of what is frozen.
    pub frozen: String,
    /// The status that its row tells.
    pub status: String,
    /// The number of the last event that its row tells.
    pub last_seq: u64,
    /// The head of the chain that its row tells.
    pub head: Option<Digest>,
    /// Its events, by number.
    pub rows: Vec<LedgerRow>,
}

/// An event as it is stored.
#[derive(Debug, Clone)]
pub struct LedgerRow {
    /// Its number.
    pub seq: u64,
    /// When it was decided.
    pub at: Timestamp,
    /// The holder's epoch.
    pub epoch: u64,
    /// What its column says that it is.
    pub kind: String,
    /// Its text.
    pub body: Vec<u8>,
    /// Its link.
    pub digest: Option<Digest>,
}

/// A place where a chain does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// The event, or the number of the one that should be there.
    pub seq: u64,
    /// What does not hold.
    pub what: BreakKind,
}

/// What does not hold at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakKind {
    /// There is no such event, and there are later ones.
    Missing,
    /// There is one more than was recorded.
    Added,
    /// The event, its place, its time or what stood before it is another than was recorded.
    Altered,
    /// Its column says that it is of another type than its text.
    Mislabelled,
    /// It has no link.
    Unlinked,
    /// The journal says that there are later events, and there are none.
    CutOff,
    /// The head that the journal keeps for the run is not the last event's.
    OtherHead,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seq = self.seq;
        match self.what {
            BreakKind::Missing => write!(f, "event {seq} is missing"),
            BreakKind::Added => write!(f, "event {seq} is one more than was recorded"),
            BreakKind::Altered if seq == 1 => {
                write!(f, "event 1, or what the run was begun with, is not what was recorded")
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
    /// Whether there is any link at all: a `kb` from before the chain left none.
    pub fn has_chain(&self) -> bool {
        self.head.is_some() || self.rows.iter().any(|row| row.digest.is_some())
    }

    /// The number of the event whose link this is; 0 for the link before the first.
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

    /// Every place where the chain does not hold, in order. After one, what follows is held against
    /// the link that is stored there, so that one alteration is one place.
    pub fn breaks(&self) -> Vec<Break> {
        let mut breaks = Vec::new();
        let mut chain = self.begin();
        for row in &self.rows {
            let next = chain.seq() + 1;
            let computed = Chain::at(row.seq - 1, chain.head()).add(row.at, row.epoch, &row.body);
            let found = match row.digest {
                _ if row.seq > self.last_seq => Some((row.seq, BreakKind::Added)),
                // What comes after a gap cannot fit; the gap is what is told.
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

/// The type of an event's text; its tag is always written first.
pub(super) fn event_type(body: &[u8]) -> &[u8] {
    let rest = body.strip_prefix(b"{\"type\":\"".as_slice());
    rest.and_then(|rest| rest.split(|byte| *byte == b'"').next()).unwrap_or(b"unknown")
}
