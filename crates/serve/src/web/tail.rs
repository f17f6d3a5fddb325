//! The newest events of a run as lines. One task reads them for all streams that follow the run, and what several
//! streams send is written once.

use super::form::Form;
use super::live::Live;
use super::problem::Problem;
use super::tokens::Tokens;
use axum::body::Bytes;
use kb_base::value::RunId;
use kb_clock::Clock;
use kb_core::redaction::Masked;
use kb_core::wire::{Body, Event, InstanceRef};
use kb_engine::inspect::Reader;
use kb_engine::journal::{Journal, JournalError};
use kb_service::service::runs::ActivityReceiver;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Maximum number of lines that are kept for a run.
const MOST_LINES: usize = 2048;
/// Maximum size of the kept lines of a run in bytes.
const MOST_BYTES: usize = 1 << 20;
/// Maximum number of lines and bytes of one write.
const CHUNK_LINES: usize = 512;
const CHUNK_BYTES: usize = 256 << 10;
/// Number of writes that are kept for other streams with the same cursor.
const RECENT: usize = 4;

/// An event as the CLI prints it.
#[derive(Debug, Clone)]
struct Line {
    seq: u64,
    /// Whether it is the last one of its number, so that a stream can continue after it.
    is_last: bool,
    json: Box<str>,
}

/// Events after a cursor.
#[derive(Debug, Clone, Default)]
pub(super) struct Chunk {
    /// What is sent; empty if there is nothing new.
    pub bytes: Bytes,
    /// The new cursor.
    pub cursor: u64,
    /// Whether more follows at once.
    pub more: bool,
}

/// What the last read of a run found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TailHead {
    /// Number of the last stored event.
    pub head: u64,
    /// Why no event follows.
    pub end: Option<End>,
}

/// Why no event of a run follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The run has ended with this status, or was removed.
    Ended(&'static str),
    /// Its events cannot be read any more.
    Gone,
}

/// The runs that streams follow.
pub(super) struct OpenTails {
    clock: Clock,
    open: Mutex<BTreeMap<(usize, RunId), Weak<Tail>>>,
}

/// The newest events of a run.
pub(super) struct Tail {
    journal: Arc<dyn Journal>,
    run: RunId,
    clock: Clock,
    state: Mutex<TailState>,
    news: watch::Sender<TailHead>,
    /// What models write, while a stream wants it.
    tokens: Mutex<Weak<Tokens>>,
    _reading: DropGuard,
}

struct TailState {
    reader: Reader,
    lines: VecDeque<Line>,
    bytes: usize,
    /// Number of the last event that is not kept any more.
    dropped: u64,
    /// Number of the last event that was read.
    head: u64,
    /// The last writes, by the head, the cursor and the form that they were made for.
    recent: VecDeque<((u64, u64, Form), Chunk)>,
    /// The running step instances by name.
    running: BTreeMap<Arc<str>, InstanceRef>,
}

impl OpenTails {
    /// No runs yet.
    pub(super) fn new(clock: Clock) -> OpenTails {
        OpenTails { clock, open: Mutex::default() }
    }

    /// The tail of a run of a project, as the journal is now. Blocks for as long as a read takes. Must be called in a
    /// tokio runtime.
    pub(super) fn of(
        &self,
        project: usize,
        journal: &Arc<dyn Journal>,
        run: &RunId,
        live: &Live,
    ) -> Result<Arc<Tail>, Problem> {
        let tail = self.tail(project, journal, run, live)?;
        tail.read();
        Ok(tail)
    }

    fn tail(
        &self,
        project: usize,
        journal: &Arc<dyn Journal>,
        run: &RunId,
        live: &Live,
    ) -> Result<Arc<Tail>, Problem> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, tail| tail.strong_count() > 0);
        let key = (project, run.clone());
        if let Some(tail) = open.get(&key).and_then(Weak::upgrade) {
            return Ok(tail);
        }
        let stop = CancellationToken::new();
        let reader = Reader::open(journal.clone(), run.as_str())?;
        let state = TailState {
            reader,
            lines: VecDeque::new(),
            bytes: 0,
            dropped: 0,
            head: 0,
            recent: VecDeque::new(),
            running: BTreeMap::new(),
        };
        let tail = Arc::new(Tail {
            journal: journal.clone(),
            run: run.clone(),
            clock: self.clock.clone(),
            state: Mutex::new(state),
            news: watch::Sender::new(TailHead::default()),
            tokens: Mutex::default(),
            _reading: stop.clone().drop_guard(),
        });
        tokio::spawn(keep_reading(Arc::downgrade(&tail), live.subscribe(), stop));
        open.insert(key, Arc::downgrade(&tail));
        Ok(tail)
    }
}

/// Reads a run after each change of the journal, until no stream follows it.
async fn keep_reading(
    tail: Weak<Tail>,
    mut changes: watch::Receiver<u64>,
    stop: CancellationToken,
) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
        let Some(tail) = tail.upgrade() else { return };
        if tokio::task::spawn_blocking(move || tail.read()).await.is_err() {
            return;
        }
    }
}

impl Tail {
    /// What the last read found, and later ones.
    pub(super) fn news(&self) -> watch::Receiver<TailHead> {
        self.news.subscribe()
    }

    /// What the models of the run write at the moment; `None` where that cannot be received. Must be called in a
    /// tokio runtime.
    pub(super) fn tokens(self: &Arc<Tail>, state_dir: &Path) -> Option<Arc<Tokens>> {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = tokens.upgrade() {
            return Some(open);
        }
        let receiver = ActivityReceiver::new(state_dir, &self.run)?;
        let tail = Arc::downgrade(self);
        let event =
            move |instance: &str, text: Masked<String>| tail.upgrade()?.token(instance, text);
        let open = Arc::new(Tokens::start(receiver, event));
        *tokens = Arc::downgrade(&open);
        Some(open)
    }

    /// The event for a piece of text of a model in a step instance; `None` if the instance does not run.
    fn token(&self, instance: &str, text: Masked<String>) -> Option<String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let place = state.running.get(instance)?.clone();
        serde_json::to_string(&Event::token(self.clock.now(), self.run.clone(), place, text)).ok()
    }

    /// Reads what was stored since the last read.
    fn read(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // The status is read first: what is stored after it belongs to a run that goes further.
        let end = match self.journal.run(&self.run) {
            Ok(row) => row.status.has_ended().then(|| End::Ended(row.status.as_str())),
            Err(JournalError::NoRun(_)) => Some(End::Ended("removed")),
            Err(_) => None,
        };
        let end = if state.advance().is_err() { Some(End::Gone) } else { end };
        let news = TailHead { head: state.head, end };
        self.news.send_if_modified(|own| {
            let is_new = *own != news;
            *own = news;
            is_new
        });
    }

    /// The events after a cursor, as many as one write holds. `None`: they are not kept any more.
    pub(super) fn after(&self, cursor: u64, form: Form) -> Option<Chunk> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if cursor < state.dropped {
            return None;
        }
        let key = (state.head, cursor, form);
        if let Some((_, chunk)) = state.recent.iter().find(|(own, _)| *own == key) {
            return Some(chunk.clone());
        }
        let from = state.lines.partition_point(|line| line.seq <= cursor);
        let chunk = chunk(state.lines.range(from..), cursor, form);
        if state.recent.len() >= RECENT {
            state.recent.pop_front();
        }
        state.recent.push_back((key, chunk.clone()));
        Some(chunk)
    }

    /// The events after a cursor that is far behind, read from the journal. Blocks for as long as that takes.
    pub(super) fn stored_after(&self, cursor: u64, form: Form) -> Result<Chunk, Problem> {
        // A reader of its own, because names and totals come from all events before.
        let mut reader = Reader::open(self.journal.clone(), self.run.as_str())?;
        let (mut found, mut is_end) = (Vec::<Line>::new(), false);
        while !is_end && found.len() <= CHUNK_LINES {
            match reader.next_events()? {
                Some(events) => found.extend(lines(events).filter(|line| line.seq > cursor)),
                None => is_end = true,
            }
        }
        // So that the streams know no end before what was read here.
        self.read();
        let chunk = chunk(found.iter(), cursor, form);
        Ok(if chunk.more {
            chunk
        } else {
            Chunk { cursor: reader.seq().max(cursor), more: !is_end, ..chunk }
        })
    }
}

impl TailState {
    fn advance(&mut self) -> Result<(), Problem> {
        while let Some(events) = self.reader.next_events()? {
            events.iter().for_each(|event| track(&mut self.running, event));
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

fn track(running: &mut BTreeMap<Arc<str>, InstanceRef>, event: &Event) {
    let Some(place) = &event.place else { return };
    match event.body {
        Body::StepStart { .. } => drop(running.insert(place.instance.clone(), place.clone())),
        Body::StepEnd { .. } => drop(running.remove(&place.instance)),
        _ => {}
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

fn chunk<'l>(lines: impl Iterator<Item = &'l Line>, cursor: u64, form: Form) -> Chunk {
    let (mut bytes, mut last, mut more) = (Vec::new(), cursor, false);
    for (count, line) in lines.enumerate() {
        let is_full = bytes.len() > CHUNK_BYTES || count >= CHUNK_LINES;
        // Only between two numbers: a stream continues after the last whole one.
        if is_full && last > cursor && line.seq != last {
            more = true;
            break;
        }
        write(&mut bytes, line, form);
        last = line.seq;
    }
    Chunk { bytes: bytes.into(), cursor: last.max(cursor), more }
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
