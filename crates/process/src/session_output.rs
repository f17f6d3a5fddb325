//! [`SessionOutput`]: the output of a session between the pipe and who reads it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Output that waits to be read, in bytes. Above it the pipe is not read, so that the process waits in `write`.
const WAITING: usize = 1 << 20;

/// What a process wrote to stdout and was not read yet.
#[derive(Default)]
pub(super) struct SessionOutput {
    state: Mutex<Unread>,
    changed: Notify,
}

/// Bytes in the order in which they came.
#[derive(Default)]
pub(super) struct Unread {
    bytes: VecDeque<u8>,
    /// The number of bytes from the first that contain no end of a line.
    searched: usize,
    /// The longest line that who reads waits for.
    longest: usize,
    is_over: bool,
    is_ignored: bool,
}

impl Unread {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn take_all(&mut self) -> Vec<u8> {
        self.take(self.len())
    }

    /// The first line with its end, of at most `limit` bytes; `None` if it is not there yet, or longer.
    pub(super) fn line(&mut self, limit: usize) -> Option<Vec<u8>> {
        let mut rest = self.bytes.range(self.searched..);
        let Some(at) = rest.position(|byte| *byte == b'\n') else {
            self.searched = self.len();
            return None;
        };
        let end = self.searched + at;
        (end <= limit).then(|| self.take(end + 1))
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        self.searched = 0;
        self.bytes.drain(..count).collect()
    }
}

impl SessionOutput {
    fn with<T>(&self, change: impl FnOnce(&mut Unread) -> T) -> T {
        let result = change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_waiters();
        result
    }

    /// Adds what was read from the process.
    pub(super) fn push(&self, bytes: &[u8]) {
        self.with(|unread| {
            if !unread.is_ignored {
                unread.bytes.extend(bytes);
            }
        });
    }

    /// Makes room for a line of this length. Wakes who waits for room.
    pub(super) fn waits_for(&self, limit: usize) {
        self.with(|unread| unread.longest = limit);
    }

    /// Waits until more may be read from the process. Cancel safe.
    pub(super) async fn has_room(&self) {
        self.until(|unread| (unread.len() <= WAITING.max(unread.longest)).then_some(())).await;
    }

    /// Drops what was read and what is still to come.
    pub(super) fn ignore(&self) {
        self.with(|unread| {
            unread.is_ignored = true;
            unread.take_all();
        });
    }

    /// Everything that was read and not taken.
    pub(super) fn rest(&self) -> Vec<u8> {
        self.with(Unread::take_all)
    }

    /// What `take` finds in the output, as soon as it finds something; `None` at the end. Cancel safe.
    pub(super) async fn next<T>(&self, take: impl Fn(&mut Unread) -> Option<T>) -> Option<T> {
        self.until(|unread| {
            let found = if unread.len() == 0 { None } else { take(unread) };
            match found {
                Some(found) => Some(Some(found)),
                None => unread.is_over.then_some(None),
            }
        })
        .await
    }

    async fn until<T>(&self, look: impl Fn(&mut Unread) -> Option<T>) -> T {
        loop {
            // Changes from here on wake this future, also before it is polled.
            let changed = self.changed.notified();
            if let Some(found) = self.with_quietly(&look) {
                self.changed.notify_waiters();
                return found;
            }
            changed.await;
        }
    }

    fn with_quietly<T>(&self, look: impl Fn(&mut Unread) -> T) -> T {
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Marks the end of the output when it is dropped.
pub(super) struct Closed(Arc<SessionOutput>);

impl Closed {
    pub(super) fn of(output: Arc<SessionOutput>) -> Closed {
        Closed(output)
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        self.0.with(|unread| unread.is_over = true);
    }
}
