//! The pipes between `kb` and a process.

use super::watched::watched;
use rustix::fd::OwnedFd;
use std::io;
use std::mem::MaybeUninit;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The pipes of a process: the ends of `kb` and the ends of the child.
pub(super) struct Pipes {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: ReadEnd,
    pub(super) stderr: ReadEnd,
    pub(super) child: ChildEnds,
}

/// The ends that the child gets. Drop them after the start, so that the child has the last ones.
pub(super) struct ChildEnds {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

impl Pipes {
    /// Creates pipes for stdout and stderr, and for stdin if there is input.
    pub(super) fn new(with_input: bool) -> io::Result<Pipes> {
        let (stdout, their_stdout) = pipe()?;
        let (stderr, their_stderr) = pipe()?;
        let input = if with_input { Some(pipe()?) } else { None };
        let (their_stdin, stdin) = input.unzip();
        for own in [Some(&stdout), Some(&stderr), stdin.as_ref()].into_iter().flatten() {
            rustix::io::ioctl_fionbio(own, true)?;
        }
        Ok(Pipes {
            stdin,
            stdout: ReadEnd::Unwatched(stdout),
            stderr: ReadEnd::Unwatched(stderr),
            child: ChildEnds { stdin: their_stdin, stdout: their_stdout, stderr: their_stderr },
        })
    }
}

/// The read and the write end of a pipe, which no other program inherits.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = io::pipe()?;
    Ok((read.into(), write.into()))
}

/// The read end of a pipe. Most processes end before `kb` needs to be notified of output, so a pipe
/// is registered with the runtime late, if ever.
pub(super) enum ReadEnd {
    Unwatched(OwnedFd),
    Watched(AsyncFd<OwnedFd>),
    Closed,
}

/// The result of a read without waiting.
pub(super) enum ReadResult<'a> {
    Data(&'a [u8]),
    Pending,
    Closed,
}

impl ReadEnd {
    pub(super) fn is_open(&self) -> bool {
        !matches!(self, ReadEnd::Closed)
    }

    /// Registers the pipe with the runtime. A pipe that cannot be registered counts as closed.
    pub(super) fn watch(&mut self) {
        *self = match std::mem::replace(self, ReadEnd::Closed) {
            ReadEnd::Unwatched(pipe) => {
                watched(pipe, Interest::READABLE).map_or(ReadEnd::Closed, ReadEnd::Watched)
            }
            other => other,
        };
    }

    /// Waits until there may be data to read.
    pub(super) async fn readable(&self) {
        match self {
            ReadEnd::Watched(pipe) => {
                let _ = pipe.readable().await;
            }
            ReadEnd::Unwatched(_) => std::future::pending().await,
            ReadEnd::Closed => {}
        }
    }

    /// Reads available data into `space`, without waiting.
    pub(super) fn take<'a>(&mut self, space: &'a mut [MaybeUninit<u8>]) -> ReadResult<'a> {
        let read = |pipe: &OwnedFd| Ok(rustix::io::read(pipe, space)?.0);
        let taken: io::Result<&'a mut [u8]> = match &*self {
            ReadEnd::Unwatched(pipe) => read(pipe),
            // Reads even if the runtime has not reported readiness: on a busy machine the report may
            // arrive after the time limit.
            ReadEnd::Watched(pipe) => read(pipe.get_ref()).inspect_err(|_| forget_readiness(pipe)),
            ReadEnd::Closed => return ReadResult::Closed,
        };
        match taken {
            Ok(bytes) if !bytes.is_empty() => ReadResult::Data(bytes),
            Err(error) if is_temporary(&error) => ReadResult::Pending,
            Ok(_) | Err(_) => {
                *self = ReadEnd::Closed;
                ReadResult::Closed
            }
        }
    }
}

/// Makes the next wait wait for new data. Data that arrived since the last read is not lost.
fn forget_readiness(pipe: &AsyncFd<OwnedFd>) {
    let _ = pipe.try_io(Interest::READABLE, |pipe| match rustix::io::ioctl_fionread(pipe) {
        Ok(0) => Err(io::Error::from(io::ErrorKind::WouldBlock)),
        _ => Ok(()),
    });
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn data_is_read_before_the_runtime_reports_readiness() {
        let mut pipes = Pipes::new(false).unwrap();
        pipes.stdout.watch();
        rustix::io::write(&pipes.child.stdout, b"words").unwrap();
        let mut space = [MaybeUninit::uninit(); 64];
        assert!(matches!(pipes.stdout.take(&mut space), ReadResult::Data(b"words")));
        assert!(matches!(pipes.stdout.take(&mut space), ReadResult::Pending));
        rustix::io::write(&pipes.child.stdout, b"more").unwrap();
        pipes.stdout.readable().await;
        assert!(matches!(pipes.stdout.take(&mut space), ReadResult::Data(b"more")));
        drop(pipes.child);
        pipes.stdout.readable().await;
        assert!(matches!(pipes.stdout.take(&mut space), ReadResult::Closed));
    }
}
