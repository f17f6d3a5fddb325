//! Input with a maximum length of a line, so that a client that sends no end of a message fills no memory.

use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// Reads from another input; fails at a line of more than `limit` bytes.
#[derive(Debug)]
pub(crate) struct BoundedLines<R> {
    inner: R,
    limit: usize,
    /// Bytes since the last end of a line.
    open: usize,
}

impl<R> BoundedLines<R> {
    pub(crate) fn new(inner: R, limit: usize) -> Self {
        BoundedLines { inner, limit, open: 0 }
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
        this.open = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => read.len() - end - 1,
            None => this.open + read.len(),
        };
        if this.open > this.limit {
            let message = format!("a message is longer than {} bytes", this.limit);
            return Poll::Ready(Err(Error::new(ErrorKind::InvalidData, message)));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::BoundedLines;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn only_a_line_is_limited() {
        let lines = b"1234\n1234\n".repeat(10);
        let mut all = Vec::new();
        BoundedLines::new(&*lines, 8).read_to_end(&mut all).await.unwrap();
        assert_eq!(all, lines);
        let mut rest = Vec::new();
        let long = b"1234\n123456789".as_slice();
        assert!(BoundedLines::new(long, 8).read_to_end(&mut rest).await.is_err());
    }
}
