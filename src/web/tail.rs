//! The newest events of a run as lines, read once for all streams that follow it.

use super::problem::Problem;
use crate::inspect::Reader;
use crate::journal::Journal;
use crate::value::RunId;
use crate::wire::Event;
use axum::body::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Maximum number of lines that are kept for a run.
const MOST_LINES: usize = 2048;
/// Maximum size of the kept lines of a run in bytes.
const MOST_BYTES: usize = 1 << 20;
/// Maximum number of lines and bytes of one write.
const CHUNK_LINES: usize = 512;
const CHUNK_BYTES: usize = 256 << 10;

/// The form of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Server-sent events.
    Sse,
    /// One JSON object per line.
    Jsonl,
}

/// An event as the CLI prints it.
#[derive(Debug, Clone)]
struct Line {
    seq: u64,
    /// Whether it is the last one of its number, so that a stream can continue after it.
    is_last: bool,
    json: Arc<str>,
}

/// Events after a cursor.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// What is sent; empty if there is nothing new.
    pub bytes: Vec<u8>,
    /// The new cursor.
    pub cursor: u64,
    /// Whether more follows at once.
    pub more: bool,
    /// Number of the last stored event.
    pub head: u64,
}

/// The runs that streams follow.
#[derive(Default)]
pub(super) struct Tails {
    open: Mutex<BTreeMap<(usize, RunId), Weak<Tail>>>,
}

/// The newest events of a run.
pub(super) struct Tail {
    journal: Arc<dyn Journal>,
    run: RunId,
    state: Mutex<TailState>,
}

struct TailState {
    reader: Reader,
    lines: VecDeque<Line>,
    bytes: usize,
    /// Number of the last event that is not kept any more.
    dropped: u64,
    /// Number of the last event that was read.
    head: u64,
}

impl Tails {
    /// The tail of a run of a project.
    pub(super) fn of(
        &self,
        project: usize,
        journal: &Arc<dyn Journal>,
        run: &RunId,
    ) -> Result<Arc<Tail>, Problem> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, tail| tail.strong_count() > 0);
        let key = (project, run.clone());
        if let Some(tail) = open.get(&key).and_then(Weak::upgrade) {
            return Ok(tail);
        }
        let tail = Arc::new(Tail::open(journal.clone(), run.clone())?);
        open.insert(key, Arc::downgrade(&tail));
        Ok(tail)
    }
}

impl Tail {
    fn open(journal: Arc<dyn Journal>, run: RunId) -> Result<Tail, Problem> {
        let reader = Reader::open(journal.clone(), run.as_str())?;
        let (lines, bytes, dropped, head) = (VecDeque::new(), 0, 0, 0);
        let state = Mutex::new(TailState { reader, lines, bytes, dropped, head });
        Ok(Tail { journal, run, state })
    }

    /// The events after a cursor, as many as one write holds. Blocks for as long as a read takes.
    pub(super) fn after(&self, cursor: u64, form: Form) -> Result<Chunk, Problem> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.advance()?;
        let head = state.head;
        if cursor >= state.dropped {
            let from = state.lines.partition_point(|line| line.seq <= cursor);
            let lines = state.lines.range(from..);
            return Ok(chunk(lines, cursor, head, form));
        }
        drop(state);
        // Far behind: a reader of its own, because names and totals come from all events before.
        let mut reader = Reader::open(self.journal.clone(), self.run.as_str())?;
        let (mut found, mut is_end) = (Vec::<Line>::new(), false);
        while !is_end && found.len() <= CHUNK_LINES {
            match reader.next_events()? {
                Some(events) => found.extend(lines(events).filter(|line| line.seq > cursor)),
                None => is_end = true,
            }
        }
        let chunk = chunk(found.iter(), cursor, head, form);
        Ok(match chunk.more {
            true => chunk,
            false => Chunk { cursor: reader.seq().max(cursor), more: !is_end, ..chunk },
        })
    }
}

impl TailState {
    fn advance(&mut self) -> Result<(), Problem> {
        while let Some(events) = self.reader.next_events()? {
            for line in lines(events) {
                self.bytes += line.json.len();
                self.lines.push_back(line);
            }
            self.head = self.reader.seq();
            while self.lines.len() > MOST_LINES || self.bytes > MOST_BYTES {
                let Some(first) = self.lines.pop_front() else { break };
                self.bytes -= first.json.len();
                self.dropped = first.seq;
            }
        }
        // The others of the number that was dropped last cannot be sent without it.
        while self.lines.front().is_some_and(|line| line.seq <= self.dropped) {
            let first = self.lines.pop_front();
            self.bytes -= first.map_or(0, |line| line.json.len());
        }
        Ok(())
    }
}

fn lines(events: Vec<Event>) -> impl Iterator<Item = Line> {
    let seqs: Vec<Option<u64>> = events.iter().map(|event| event.seq).collect();
    events.into_iter().enumerate().filter_map(move |(index, event)| {
        let seq = event.seq?;
        let is_last = seqs.get(index + 1).is_none_or(|next| *next != Some(seq));
        let json = serde_json::to_string(&event).ok()?;
        Some(Line { seq, is_last, json: json.into() })
    })
}

fn chunk<'l>(lines: impl Iterator<Item = &'l Line>, cursor: u64, head: u64, form: Form) -> Chunk {
    let mut chunk = Chunk { cursor, head, ..Chunk::default() };
    for (count, line) in lines.enumerate() {
        let is_full = chunk.bytes.len() > CHUNK_BYTES || count >= CHUNK_LINES;
        // Only between two numbers: a stream continues after the last whole one.
        if is_full && chunk.cursor > cursor && line.seq != chunk.cursor {
            chunk.more = true;
            return chunk;
        }
        write(&mut chunk.bytes, line, form);
        chunk.cursor = line.seq;
    }
    chunk.cursor = chunk.cursor.max(cursor);
    chunk
}

fn write(bytes: &mut Vec<u8>, line: &Line, form: Form) {
    if form == Form::Sse {
        if line.is_last {
            bytes.extend_from_slice(format!("id: {}\n", line.seq).as_bytes());
        }
        bytes.extend_from_slice(b"data: ");
    }
    bytes.extend_from_slice(line.json.as_bytes());
    bytes.extend_from_slice(if form == Form::Sse { b"\n\n" } else { b"\n" });
}

/// A named event without a number.
pub(super) fn named(name: &str, data: &serde_json::Value, form: Form) -> Bytes {
    let text = match form {
        Form::Sse => format!("event: {name}\ndata: {data}\n\n"),
        Form::Jsonl => format!("{}\n", serde_json::json!({"type": name, "data": data})),
    };
    Bytes::from(text)
}
