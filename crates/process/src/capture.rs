//! Captures the output streams of a process.

use super::pipes::{ReadEnd, ReadResult};
use std::mem::MaybeUninit;

/// A callback for each line of output while a process runs, in order for each stream.
pub type OnLine = std::sync::Arc<dyn Fn(Stream, &str) + Send + Sync>;

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

/// The maximum number of chunks to read before other events are handled, so that a process that
/// writes without end can still be stopped.
const MAX_CHUNKS: usize = 32;

/// Captures the first bytes of a stream, counts the rest, and shows lines as they arrive.
pub(super) struct Capture {
    stream: Stream,
    source: ReadEnd,
    kept: Vec<u8>,
    limit: usize,
    cut: u64,
    lines: Option<Lines>,
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
        on_line: Option<OnLine>,
    ) -> Self {
        let lines = on_line.map(|show| Lines { show, partial: Vec::new(), is_cut: false });
        Capture { stream, source, kept: Vec::new(), limit, cut: 0, lines }
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
        self.source.readable().await;
        self.take();
    }

    /// Reads the output that is available, without waiting.
    pub(super) fn take(&mut self) {
        for _ in 0..MAX_CHUNKS {
            let mut space = [MaybeUninit::uninit(); CHUNK];
            match self.source.take(&mut space) {
                ReadResult::Data(bytes) => {
                    let count = bytes.len();
                    let keep = count.min(self.limit - self.kept.len());
                    self.kept.extend_from_slice(&bytes[..keep]);
                    self.cut += (count - keep) as u64;
                    self.show(bytes, keep == count);
                }
                ReadResult::Pending | ReadResult::Closed => return,
            }
        }
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

    /// The captured text and the number of bytes that were not captured.
    pub(super) fn finish(mut self) -> (String, u64) {
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
        (text, self.cut)
    }
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
