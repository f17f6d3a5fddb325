use super::OnLine;
use tokio::io::{AsyncRead, AsyncReadExt};

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

/// Keeps the first bytes of a stream, counts the rest, and shows lines on their way.
pub(super) struct Capture<R> {
    stream: Stream,
    pipe: Option<R>,
    chunk: Box<[u8]>,
    kept: Vec<u8>,
    limit: usize,
    cut: u64,
    lines: Option<(OnLine, Vec<u8>)>,
}

impl<R: AsyncRead + Unpin> Capture<R> {
    pub(super) fn new(stream: Stream, pipe: R, limit: usize, on_line: Option<OnLine>) -> Self {
        Capture {
            stream,
            pipe: Some(pipe),
            chunk: vec![0; CHUNK].into_boxed_slice(),
            kept: Vec::new(),
            limit,
            cut: 0,
            lines: on_line.map(|show| (show, Vec::new())),
        }
    }

    /// Whether more may come.
    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Takes in what comes next; dropping the future before it is ready loses nothing.
    pub(super) async fn fill(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(&mut self.chunk).await {
            Ok(0) | Err(_) => self.pipe = None,
            Ok(count) => self.take_in(count),
        }
    }

    fn take_in(&mut self, count: usize) {
        let keep = count.min(self.limit - self.kept.len());
        self.kept.extend_from_slice(&self.chunk[..keep]);
        self.cut += (count - keep) as u64;
        if self.lines.is_some() {
            self.show(count, keep == count);
        }
    }

    /// Shows the lines that a chunk completes. Beyond the limit one line a chunk is enough to see
    /// that something moves: a flood must not cost more than reading it.
    fn show(&mut self, count: usize, every: bool) {
        let Some((show, partial)) = &mut self.lines else { return };
        let mut rest = &self.chunk[..count];
        if !every {
            let end = rest.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
            let start = rest[..end].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            partial.clear();
            rest = &rest[start..];
        }
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            partial.extend_from_slice(&rest[..end]);
            show(self.stream, &line_text(partial));
            partial.clear();
            rest = &rest[end + 1..];
        }
        partial.extend_from_slice(rest);
        if partial.len() > LINE {
            show(self.stream, &line_text(partial));
            partial.clear();
        }
    }

    /// The text that was kept and the number of bytes that were not.
    pub(super) fn finish(mut self) -> (String, u64) {
        if let Some((show, partial)) = &self.lines
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
