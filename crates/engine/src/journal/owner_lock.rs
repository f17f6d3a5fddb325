//! Locked files that say which process owns something: the owner keeps the exclusive lock, and others
//! look with a shared lock that they keep for a moment. The kernel releases a lock with its process.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::time::Duration;

/// Others that look keep their lock for microseconds, unless the machine is busy.
const TRIES: u32 = 500;
const PAUSE: Duration = Duration::from_millis(2);

/// Takes the exclusive lock. `false`: another process owns the file. A process that only looks does not
/// refuse the lock; for it, this function waits.
pub fn try_own(file: &File) -> io::Result<bool> {
    for _ in 0..TRIES {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) if is_owned(file)? => return Ok(false),
            Err(Errno::WOULDBLOCK) => {
                // The look has taken a shared lock, which would refuse another process the lock.
                flock(file, FlockOperation::Unlock)?;
                std::thread::sleep(PAUSE);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

/// Releases the lock, also where a process that was just started still has a copy of the open file.
pub fn release(file: &File) {
    // The kernel releases the lock with the last copy at the latest.
    let _ = flock(file, FlockOperation::Unlock);
}

/// Whether another process owns the file. If none does, the file has a shared lock until it is closed.
pub fn is_owned(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(false),
        Err(Errno::WOULDBLOCK) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
