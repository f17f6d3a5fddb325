//! Records what the process of a step writes while it runs, so that logs show it at once and a kill
//! loses little of it.
//!
//! A process whose output ends within the first [`INTERVAL`] records none: its attempt holds it all.

use kb_attempt::{Progress, Recorder, Stopped};
use kb_core::evidence::{OutputPart, Payload, Record};
use kb_language::definition::JournalSettings;
use kb_process::{OutputListener, Stream};
use serde_json::json;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Time between two records.
const INTERVAL: Duration = Duration::from_millis(150);
/// Bytes of output after which a record is made at once, and reading waits for it.
const CHUNK: usize = 1 << 20;
/// The largest end of an output that is kept after its beginning, in bytes.
const TAIL: usize = 1 << 20;
/// A line that is longer is left out, in bytes: a part of it could begin or end in the middle of a secret.
const LONGEST_LINE: usize = 1 << 20;

/// The output of processes that a run may still record.
#[derive(Debug)]
pub(super) struct RunLogs {
    step: u64,
    left: AtomicU64,
}

impl RunLogs {
    /// Nothing is recorded yet.
    pub(super) fn new(budget: &JournalSettings) -> Arc<RunLogs> {
        let bytes = |mib: u32| u64::from(mib) << 20;
        let (step, left) = (bytes(budget.step_log_mib), AtomicU64::new(bytes(budget.run_log_mib)));
        Arc::new(RunLogs { step, left })
    }

    fn take(&self, bytes: u64) {
        let less = |left: u64| Some(left.saturating_sub(bytes));
        let _ = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    fn is_used_up(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }
}

/// What is kept of one output.
#[derive(Debug, Clone, Copy)]
struct Shares {
    /// Bytes that are recorded as they come.
    whole: u64,
    /// Bytes that are recorded after them while the process runs. Each record takes a part of what is left.
    samples: u64,
    /// Bytes of the end that are kept after them.
    tail: usize,
}

impl Shares {
    /// Three quarters of a budget are the beginning, at most 1 MiB is the end.
    fn of(budget: u64) -> Shares {
        let (whole, tail) = (budget / 4 * 3, (budget / 16).min(TAIL as u64));
        Shares { whole, samples: budget - whole - tail, tail: tail as usize }
    }
}

/// The output of one process that is not recorded yet.
pub(super) struct OutputLog {
    recorder: Arc<dyn Recorder>,
    pending: Arc<Mutex<Pending>>,
}

/// Lines in the order of their arrival.
struct Pending {
    run: Arc<RunLogs>,
    shares: Shares,
    parts: VecDeque<(Stream, Vec<u8>)>,
    /// Bytes in `parts`.
    bytes: usize,
    /// Incomplete last lines of stdout and stderr.
    open: [OpenLine; 2],
    /// Bytes that were left out since the last record.
    omitted: u64,
    /// Bytes that were recorded.
    recorded: u64,
}

/// The beginning of a line whose end was not written yet.
#[derive(Default)]
struct OpenLine {
    bytes: Vec<u8>,
    /// The line is too long: its beginning was left out, and the rest will be.
    is_left_out: bool,
}

impl OutputLog {
    pub(super) fn new(recorder: Arc<dyn Recorder>, run: Arc<RunLogs>) -> OutputLog {
        OutputLog { recorder, pending: Arc::new(Mutex::new(Pending::new(run))) }
    }

    /// What the process tells.
    pub(super) fn listener(&self) -> OutputListener {
        let (recorder, pending) = (self.recorder.clone(), self.pending.clone());
        OutputListener {
            on_line: Arc::new(move |_, line: &str| {
                recorder.progress(Progress::Output(line.to_owned()));
            }),
            on_bytes: Some(Arc::new(move |stream, bytes| lock(&pending).push(stream, bytes))),
        }
    }

    /// Records the output of a process until it has ended. If the journal refuses a record, the process is
    /// killed.
    pub(super) async fn record_until<T>(
        &self,
        process: impl Future<Output = T>,
    ) -> Result<T, Stopped> {
        let mut process = pin!(process);
        let mut next = kb_clock::timer_instant() + INTERVAL;
        loop {
            tokio::select! {
                biased;
                exited = &mut process => {
                    let rest = lock(&self.pending).rest();
                    if let Some(record) = rest {
                        self.recorder.record(record).await?;
                    }
                    return Ok(exited);
                }
                () = self.due(next) => {}
            }
            let record = lock(&self.pending).take();
            if let Some(record) = record {
                self.recorder.record(record).await?;
            }
            next = kb_clock::timer_instant() + INTERVAL;
        }
    }

    /// Waits for the time of the next record, or until as much as one may hold is pending. The second is
    /// found when the process lets other work go on, which it does after each read that fills a record.
    async fn due(&self, next: tokio::time::Instant) {
        let mut timer = pin!(tokio::time::sleep_until(next));
        std::future::poll_fn(|context| {
            if lock(&self.pending).is_full() {
                std::task::Poll::Ready(())
            } else {
                timer.as_mut().poll(context)
            }
        })
        .await;
    }
}

fn lock(pending: &Mutex<Pending>) -> MutexGuard<'_, Pending> {
    pending.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pending {
    fn new(run: Arc<RunLogs>) -> Pending {
        Pending {
            shares: Shares::of(run.step),
            run,
            parts: VecDeque::new(),
            bytes: 0,
            open: Default::default(),
            omitted: 0,
            recorded: 0,
        }
    }

    /// Whether only samples and the end are recorded from now on.
    fn is_sampled(&self) -> bool {
        self.recorded >= self.shares.whole || self.run.is_used_up()
    }

    /// Adds output. Returns whether a record is due.
    fn push(&mut self, stream: Stream, mut bytes: &[u8]) -> bool {
        let open = &mut self.open[stream as usize];
        let line_end = bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let line = line_end.unwrap_or(bytes.len());
        if open.is_left_out || open.bytes.len() + line > LONGEST_LINE {
            self.omitted += (open.bytes.len() + line) as u64;
            open.bytes.clear();
            open.is_left_out = line_end.is_none();
            bytes = &bytes[line..];
        }
        let lines = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (lines, rest) = bytes.split_at(lines);
        let mut whole = Vec::new();
        if !lines.is_empty() {
            whole = std::mem::take(&mut open.bytes);
            whole.extend_from_slice(lines);
        }
        open.bytes.extend_from_slice(rest);
        if !whole.is_empty() {
            self.add(stream, whole);
        }
        self.is_full()
    }

    fn add(&mut self, stream: Stream, lines: Vec<u8>) {
        self.bytes += lines.len();
        match self.parts.back_mut() {
            Some((own, part)) if *own == stream && part.len() < self.shares.tail / 8 => {
                part.extend(lines)
            }
            _ => self.parts.push_back((stream, lines)),
        }
        if self.is_sampled() {
            self.leave_out(self.shares.tail);
        }
    }

    /// Whether a record is due now.
    fn is_full(&self) -> bool {
        self.bytes >= CHUNK && !self.is_sampled()
    }

    /// Leaves out the oldest lines until at most `most` bytes are left.
    fn leave_out(&mut self, most: usize) {
        while let Some(over) = self.bytes.checked_sub(most).filter(|over| *over > 0)
            && let Some((stream, mut part)) = self.parts.pop_front()
        {
            let line_end = part.iter().skip(over - 1).position(|byte| *byte == b'\n');
            let left_out = line_end.map_or(part.len(), |at| over + at).min(part.len());
            self.bytes -= left_out;
            self.omitted += left_out as u64;
            if left_out < part.len() {
                self.parts.push_front((stream, part.split_off(left_out)));
            }
        }
    }

    /// The record of what is pending, if it is anything. Beyond its share it has the last lines only.
    fn take(&mut self) -> Option<Record> {
        if self.run.is_used_up() {
            return None;
        }
        if self.is_sampled() {
            let left = (self.shares.whole + self.shares.samples).saturating_sub(self.recorded);
            self.leave_out((left / 256) as usize);
        }
        (!self.parts.is_empty()).then(|| self.drain())
    }

    /// The record of the rest, with incomplete lines; `None` if nothing of the attempt was recorded yet.
    fn rest(&mut self) -> Option<Record> {
        if self.recorded == 0 {
            return None;
        }
        for stream in [Stream::Stdout, Stream::Stderr] {
            let open = std::mem::take(&mut self.open[stream as usize].bytes);
            if !open.is_empty() {
                self.add(stream, open);
            }
        }
        (!self.parts.is_empty() || self.omitted > 0).then(|| self.drain())
    }

    fn drain(&mut self) -> Record {
        let bytes = std::mem::take(&mut self.bytes) as u64;
        self.run.take(bytes);
        self.recorded += bytes;
        let part = |(stream, bytes): (Stream, Vec<u8>)| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            match stream {
                Stream::Stdout => OutputPart::Stdout(text),
                Stream::Stderr => OutputPart::Stderr(text),
            }
        };
        let parts: Vec<OutputPart> =
            std::mem::take(&mut self.parts).into_iter().map(part).collect();
        let omitted = std::mem::take(&mut self.omitted);
        Record::Output { parts: Payload::inline(json!(parts)), omitted }
    }
}
