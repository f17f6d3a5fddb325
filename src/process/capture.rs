use super::OnLine;
use super::pipes::{Source, Taken};
use std::mem::MaybeUninit;

/// One of the two streams that a process writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Bytes that are read at once.
const CHUNK: usize = 32 << 10;
/// A line that is longer is shown in pieces.
const LINE: usize = 4 << 10;

/// Chunks that are taken in without looking at anything else: a flood must not keep its step from
/// being stopped.
const AT_ONCE: usize = 32;

/// Keeps the first bytes of a stream, counts the rest, and shows lines on their way.
pub(super) struct Capture {
    stream: Stream,
    source: Source,
    kept: Vec<u8>,
    limit: usize,
    cut: u64,
    lines: Option<Lines>,
}

/// Where lines are shown, and the one that is not whole yet.
struct Lines {
    show: OnLine,
    partial: Vec<u8>,
    /// Its beginning was shown or left out; the rest is shown to nobody, since half a secret may lie
    /// before and half behind.
    is_cut: bool,
}

impl Capture {
    pub(super) fn new(
        stream: Stream,
        source: Source,
        limit: usize,
        on_line: Option<OnLine>,
    ) -> Self {
        let lines = on_line.map(|show| Lines { show, partial: Vec::new(), is_cut: false });
        Capture { stream, source, kept: Vec::new(), limit, cut: 0, lines }
    }

    /// Whether more may come.
    pub(super) fn is_open(&self) -> bool {
        self.source.is_open()
    }

    /// From here on [`Capture::fill`] is woken by what comes.
    pub(super) fn watch(&mut self) {
        self.source.watch();
    }

    /// Takes in what comes next; dropping the future before it is ready loses nothing. Never ready
    /// before [`Capture::watch`].
    pub(super) async fn fill(&mut self) {
        self.source.readable().await;
        self.take();
    }

    /// Takes in what is there.
    pub(super) fn take(&mut self) {
        for _ in 0..AT_ONCE {
            let mut space = [MaybeUninit::uninit(); CHUNK];
            match self.source.take(&mut space) {
                Taken::Some(bytes) => {
                    let count = bytes.len();
                    let keep = count.min(self.limit - self.kept.len());
                    self.kept.extend_from_slice(&bytes[..keep]);
                    self.cut += (count - keep) as u64;
                    self.show(bytes, keep == count);
                }
                Taken::NothingYet | Taken::End => return,
            }
        }
    }

    /// Shows the lines that a chunk completes. Beyond the limit one line a chunk is enough to see
    /// that something moves: a flood must not cost more than reading it.
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
        if partial.len() > LINE {
            show(self.stream, &line_text(partial));
            partial.clear();
            *is_cut = true;
        }
    }

    /// The text that was kept and the number of bytes that were not.
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
    String::from_utf8_lossy(&end[..end.len().min(LINE)])
}

/// The length without a character that the limit cut in two.
fn whole_characters(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    match std::str::from_utf8(&bytes[tail_start(bytes, tail)..]) {
        Err(error) if error.error_len().is_none() => tail_start(bytes, tail) + error.valid_up_to(),
        _ => bytes.len(),
    }
}

/// The first place from `from` on where a character begins.
fn tail_start(bytes: &[u8], from: usize) -> usize {
    (from..bytes.len()).find(|at| bytes[*at] & 0xC0 != 0x80).unwrap_or(bytes.len())
}
