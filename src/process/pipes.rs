use super::watched::watched;
use rustix::fd::OwnedFd;
use rustix::pipe::{PipeFlags, pipe_with};
use std::io;
use std::mem::MaybeUninit;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The pipes of a process: our ends, and those that it gets.
pub(super) struct Pipes {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: Source,
    pub(super) stderr: Source,
    pub(super) theirs: ChildEnds,
}

/// What the process gets. To be dropped once it has them: its own are to be the last.
pub(super) struct ChildEnds {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

impl Pipes {
    /// Pipes for both outputs, and for the input where there is any.
    pub(super) fn new(with_input: bool) -> io::Result<Pipes> {
        let (stdout, their_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr, their_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
        let input = if with_input { Some(pipe_with(PipeFlags::CLOEXEC)?) } else { None };
        let (their_stdin, stdin) = input.unzip();
        for own in [Some(&stdout), Some(&stderr), stdin.as_ref()].into_iter().flatten() {
            rustix::io::ioctl_fionbio(own, true)?;
        }
        Ok(Pipes {
            stdin,
            stdout: Source::Unwatched(stdout),
            stderr: Source::Unwatched(stderr),
            theirs: ChildEnds { stdin: their_stdin, stdout: their_stdout, stderr: their_stderr },
        })
    }
}

/// The end of a pipe that is read. Most processes have ended before anybody would have to be woken
/// by what they write, so that watching it begins later, if ever.
pub(super) enum Source {
    Unwatched(OwnedFd),
    Watched(AsyncFd<OwnedFd>),
    Closed,
}

/// What a look into a pipe finds.
pub(super) enum Taken<'a> {
    Some(&'a [u8]),
    NothingYet,
    End,
}

impl Source {
    pub(super) fn is_open(&self) -> bool {
        !matches!(self, Source::Closed)
    }

    /// Begins to wait for what comes. A pipe that cannot be watched is as good as closed.
    pub(super) fn watch(&mut self) {
        *self = match std::mem::replace(self, Source::Closed) {
            Source::Unwatched(pipe) => {
                watched(pipe, Interest::READABLE).map_or(Source::Closed, Source::Watched)
            }
            other => other,
        };
    }

    /// Until there may be something to take.
    pub(super) async fn readable(&self) {
        match self {
            Source::Watched(pipe) => {
                let _ = pipe.readable().await;
            }
            Source::Unwatched(_) => std::future::pending().await,
            Source::Closed => {}
        }
    }

    /// Takes what is there, as much as there is space for.
    pub(super) fn take<'a>(&mut self, space: &'a mut [MaybeUninit<u8>]) -> Taken<'a> {
        let read = |pipe: &OwnedFd| Ok(rustix::io::read(pipe, space)?.0);
        let taken: io::Result<&'a mut [u8]> = match &*self {
            Source::Unwatched(pipe) => read(pipe),
            // What is there counts, whether the runtime has heard of it or not: on a busy machine it
            // may hear only when the time to wait is over.
            Source::Watched(pipe) => read(pipe.get_ref()).inspect_err(|_| forget_readiness(pipe)),
            Source::Closed => return Taken::End,
        };
        match taken {
            Ok(bytes) if !bytes.is_empty() => Taken::Some(bytes),
            Err(error) if is_passing(&error) => Taken::NothingYet,
            Ok(_) | Err(_) => {
                *self = Source::Closed;
                Taken::End
            }
        }
    }
}

/// The next wait is for what is still to come. What came since the last look is not forgotten.
fn forget_readiness(pipe: &AsyncFd<OwnedFd>) {
    let _ = pipe.try_io(Interest::READABLE, |pipe| match rustix::io::ioctl_fionread(pipe) {
        Ok(0) => Err(io::Error::from(io::ErrorKind::WouldBlock)),
        _ => Ok(()),
    });
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_there_is_taken_before_the_runtime_has_heard_of_it() {
        let mut pipes = Pipes::new(false).unwrap();
        pipes.stdout.watch();
        rustix::io::write(&pipes.theirs.stdout, b"words").unwrap();
        let mut space = [MaybeUninit::uninit(); 64];
        assert!(matches!(pipes.stdout.take(&mut space), Taken::Some(b"words")));
        assert!(matches!(pipes.stdout.take(&mut space), Taken::NothingYet));
        rustix::io::write(&pipes.theirs.stdout, b"more").unwrap();
        pipes.stdout.readable().await;
        assert!(matches!(pipes.stdout.take(&mut space), Taken::Some(b"more")));
        drop(pipes.theirs);
        pipes.stdout.readable().await;
        assert!(matches!(pipes.stdout.take(&mut space), Taken::End));
    }
}
