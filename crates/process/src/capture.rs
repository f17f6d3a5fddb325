//! Captures the output streams of a process.

use super::pipes::{ReadEnd, ReadResult};
use super::session_output::SessionOutput;
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// A callback for each line of output while a process runs, in order for each stream.
pub type OnLine = std::sync::Arc<dyn Fn(Stream, &str) + Send + Sync>;

/// A callback for each part of the output as it is read, in order for each stream. It returns whether
/// reading pauses, so that who runs the process can store what it got before more is read.
pub type OnBytes = std::sync::Arc<dyn Fn(Stream, &[u8]) -> bool + Send + Sync>;

/// What is told about the output while a process runs.
#[derive(Clone)]
pub struct OutputListener {
    /// Gets lines, thinned out in a flood.
    pub on_line: OnLine,
    /// Gets everything.
    pub on_bytes: Option<OnBytes>,
}

impl From<OnLine> for OutputListener {
    fn from(on_line: OnLine) -> OutputListener {
        OutputListener { on_line, on_bytes: None }
    }
}

/// An output stream of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error output.
    Stderr,
}

/// The most that one read takes, in bytes.
const CHUNK: usize = 32 << 10;
/// The maximum length of a shown line in bytes. The rest of a longer line is not shown.
const MAX_LINE: usize = 4 << 10;

/// The end of a stream beyond the limit that is kept, in bytes.
const TAIL: usize = 16 << 10;

/// The maximum number of chunks to read before other events are handled, so that a process that
/// writes without end can still be stopped.
const MAX_CHUNKS: usize = 32;

/// Captures the first and the last bytes of a stream, counts the rest, and shows output as it arrives.
pub(super) struct Capture {
    stream: Stream,
    source: ReadEnd,
    kept: Vec<u8>,
    limit: usize,
    cut: u64,
    tail: VecDeque<u8>,
    on_bytes: Option<OnBytes>,
    lines: Option<Lines>,
    session: Option<Arc<SessionOutput>>,
}

/// The callback for lines, and the incomplete last line.
struct Lines {
    show: OnLine,
    partial: Vec<u8>,
    /// The beginning of the line was shown or skipped. The rest is not shown, since a secret may
    /// extend over the cut.
    is_cut: bool,
}

impl Capture {
    pub(super) fn new(
        stream: Stream,
        source: ReadEnd,
        limit: usize,
        listener: Option<OutputListener>,
    ) -> Self {
        let (on_line, on_bytes) = match listener {
            Some(OutputListener { on_line, on_bytes }) => (Some(on_line), on_bytes),
            None => (None, None),
        };
        let lines = on_line.map(|show| Lines { show, partial: Vec::new(), is_cut: false });
        let (kept, tail) = (Vec::new(), VecDeque::new());
        Capture { stream, source, kept, limit, cut: 0, tail, on_bytes, lines, session: None }
    }

    /// The stdout of a session, which is not kept: the caller of the session reads it.
    pub(super) fn of_session(source: ReadEnd, session: Arc<SessionOutput>) -> Self {
        let capture = Capture::new(Stream::Stdout, source, 0, None);
        Capture { session: Some(session), ..capture }
    }

    /// Whether the stream is open.
    pub(super) fn is_open(&self) -> bool {
        self.source.is_open()
    }

    /// Makes [`Capture::fill`] ready when output arrives.
    pub(super) fn watch(&mut self) {
        self.source.watch();
    }

    /// Waits for output and reads it. Never ready before [`Capture::watch`]. Cancel safe.
    pub(super) async fn fill(&mut self) {
        if let Some(session) = &self.session {
            session.has_room().await;
        }
        self.source.readable().await;
        if self.take() {
            tokio::task::yield_now().await;
        }
    }

    /// Reads the output that is available, without waiting. Returns whether reading pauses.
    pub(super) fn take(&mut self) -> bool {
        for _ in 0..MAX_CHUNKS {
            let mut space = [MaybeUninit::uninit(); CHUNK];
            match self.source.take(&mut space) {
                ReadResult::Data(bytes) => {
                    if let Some(session) = &self.session {
                        session.push(bytes);
                        continue;
                    }
                    let count = bytes.len();
                    let keep = count.min(self.limit - self.kept.len());
                    self.kept.extend_from_slice(&bytes[..keep]);
                    self.keep_tail(&bytes[keep..]);
                    self.show(bytes, keep == count);
                    if self.on_bytes.as_ref().is_some_and(|take| take(self.stream, bytes)) {
                        return true;
                    }
                }
                ReadResult::Pending | ReadResult::Closed => return false,
            }
        }
        false
    }

    fn keep_tail(&mut self, bytes: &[u8]) {
        self.cut += bytes.len() as u64;
        self.tail.extend(&bytes[bytes.len().saturating_sub(TAIL)..]);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL));
    }

    /// Shows the lines that a chunk completes. Beyond the limit it shows one line per chunk, so that
    /// a flood of output costs little more than reading it.
    fn show(&mut self, bytes: &[u8], every: bool) {
        let Some(Lines { show, partial, is_cut }) = &mut self.lines else { return };
        let mut rest = bytes;
        if !every {
            let end = rest.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
            let start = rest[..end].iter().rposition(|byte| *byte == b'\n');
            partial.clear();
            *is_cut |= start.is_none();
            rest = &rest[start.map_or(0, |at| at + 1)..];
        }
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            if !std::mem::take(is_cut) {
                partial.extend_from_slice(&rest[..end]);
                show(self.stream, &line_text(partial));
            }
            partial.clear();
            rest = &rest[end + 1..];
        }
        if *is_cut {
            return;
        }
        partial.extend_from_slice(rest);
        if partial.len() > MAX_LINE {
            show(self.stream, &line_text(partial));
            partial.clear();
            *is_cut = true;
        }
    }

    /// The captured text, the number of bytes after it, and the last lines of these.
    pub(super) fn finish(mut self) -> (String, u64, String) {
        if let Some(Lines { show, partial, .. }) = &self.lines
            && !partial.is_empty()
        {
            show(self.stream, &line_text(partial));
        }
        if self.cut > 0 {
            let whole = whole_characters(&self.kept);
            self.cut += (self.kept.len() - whole) as u64;
            self.kept.truncate(whole);
        }
        let text = String::from_utf8(self.kept)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        (text, self.cut, last_lines(self.tail))
    }
}

/// The whole lines of the end of a stream. What is before the first end of a line belongs to a line whose beginning
/// is elsewhere, and may be the second half of a secret.
fn last_lines(tail: VecDeque<u8>) -> String {
    let tail = Vec::from(tail);
    let start = tail.iter().position(|byte| *byte == b'\n').map_or(tail.len(), |at| at + 1);
    String::from_utf8_lossy(&tail[start..]).into_owned()
}

fn line_text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    let end = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    String::from_utf8_lossy(&end[..end.len().min(MAX_LINE)])
}

/// The length without a character that the limit has cut.
fn whole_characters(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    match std::str::from_utf8(&bytes[tail_start(bytes, tail)..]) {
        Err(error) if error.error_len().is_none() => tail_start(bytes, tail) + error.valid_up_to(),
        _ => bytes.len(),
    }
}

/// The first index from `from` on where a character starts.
fn tail_start(bytes: &[u8], from: usize) -> usize {
    (from..bytes.len()).find(|at| bytes[*at] & 0xC0 != 0x80).unwrap_or(bytes.len())
}
