//! Input with a maximum length of a line, so that a client that sends no end of a message fills no memory.

use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// Reads from another input; fails at a line of more than `limit` bytes.
#[derive(Debug)]
pub(crate) struct BoundedLines<R> {
    inner: R,
    limit: usize,
    /// Bytes since the last end of a line.
    open: usize,
    exceeded: Arc<AtomicBool>,
}

impl<R> BoundedLines<R> {
    pub(crate) fn new(inner: R, limit: usize) -> Self {
        BoundedLines { inner, limit, open: 0, exceeded: Arc::default() }
    }

    /// Becomes true at a line that is too long. What reads the lines may take the error for the end of the input.
    pub(crate) fn exceeded(&self) -> Arc<AtomicBool> {
        self.exceeded.clone()
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<(), Error>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        let read = &buffer.filled()[before..];
        for (i, part) in read.split(|byte| *byte == b'\n').enumerate() {
            this.open = if i == 0 { this.open + part.len() } else { part.len() };
            if this.open > this.limit {
                this.exceeded.store(true, Ordering::Relaxed);
            }
        }
        if this.exceeded.load(Ordering::Relaxed) {
            buffer.set_filled(before);
            let message = format!("a message is longer than {} bytes", this.limit);
            return Poll::Ready(Err(Error::new(ErrorKind::InvalidData, message)));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn only_a_line_is_limited() {
        let lines = b"1234\n1234\n".repeat(10);
        let mut all = Vec::new();
        BoundedLines::new(&*lines, 8).read_to_end(&mut all).await.unwrap();
        assert_eq!(all, lines);
        let mut rest = Vec::new();
        for long in ["1234\n123456789", "123456789\n1234", "1\n123456789\n"] {
            let mut lines = BoundedLines::new(long.as_bytes(), 8);
            assert!(lines.read_to_end(&mut rest).await.is_err());
            assert!(lines.exceeded().load(Ordering::Relaxed));
        }
    }
}
