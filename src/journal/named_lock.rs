//! Named locks between runs, also of other processes, granted in the order of the requests.
//!
//! A request is a file with a number in the folder of the lock. Its process keeps it locked, so that the
//! kernel releases it when the process ends, however it ends. The request with the smallest number that is
//! still locked has the lock; a process that finds an unlocked one removes it.

use super::JournalError;
use crate::value::Digest;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Maximum length of the text of a owner.
const OWNER_BYTES: u64 = 256;

/// The named locks of a project.
#[derive(Debug, Clone)]
pub struct NamedLocks {
    directory: PathBuf,
}

/// A request for a lock. Dropping it releases the lock or leaves the queue.
#[derive(Debug)]
pub struct LockRequest {
    folder: PathBuf,
    number: u64,
    /// Locked while the request exists.
    _file: File,
}

/// The requests of a lock around one of them, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LockQueue {
    /// The owners of the requests before it; without any, it has the lock.
    pub before: Vec<String>,
    /// Whether there is a request after it.
    pub is_followed: bool,
}

impl NamedLocks {
    /// The locks in this folder, which is created with the first request.
    pub(super) fn new(directory: PathBuf) -> NamedLocks {
        NamedLocks { directory }
    }

    /// Enters the queue of a lock. `owner` says who requests it.
    pub fn request(&self, name: &str, owner: &str) -> Result<LockRequest, JournalError> {
        let digest = Digest::of(name).to_string();
        let folder = self.directory.join(digest.chars().take(32).collect::<String>());
        let failed = |error: io::Error| JournalError::of_file("lock", &folder, &error);
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let made = || -> io::Result<LockRequest> {
            let _entry = enter(&folder)?;
            let number = numbers(&folder)?.last().map_or(1, |last| last + 1);
            let path = path_of(&folder, number);
            let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            file.write_all(owner.as_bytes())?;
            Ok(LockRequest { folder: folder.clone(), number, _file: file })
        };
        made().map_err(failed)
    }
}

impl LockRequest {
    /// The requests around this one. Those of processes that have ended are removed.
    pub fn queue(&self) -> Result<LockQueue, JournalError> {
        let failed = |error: io::Error| JournalError::of_file("lock", &self.folder, &error);
        self.read().map_err(failed)
    }

    fn read(&self) -> io::Result<LockQueue> {
        let _entry = enter(&self.folder)?;
        let mut queue = LockQueue::default();
        for number in numbers(&self.folder)?.into_iter().filter(|number| *number != self.number) {
            let path = path_of(&self.folder, number);
            let file = match File::open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            match flock(&file, FlockOperation::NonBlockingLockShared) {
                Ok(()) => std::fs::remove_file(&path)?,
                Err(_) if number > self.number => queue.is_followed = true,
                Err(_) => {
                    let mut owner = String::new();
                    let _ = file.take(OWNER_BYTES).read_to_string(&mut owner);
                    queue.before.push(owner);
                }
            }
        }
        Ok(queue)
    }
}

impl Drop for LockRequest {
    fn drop(&mut self) {
        // Without the file, the next request reads one less; unlocked, it would be removed by it.
        let _ = std::fs::remove_file(path_of(&self.folder, self.number));
    }
}

/// Excludes other processes from the folder for a moment.
fn enter(folder: &Path) -> io::Result<File> {
    let path = folder.join("entry");
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

fn path_of(folder: &Path, number: u64) -> PathBuf {
    folder.join(number.to_string())
}

/// The numbers of the requests, in order.
fn numbers(folder: &Path) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        found.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u64>().ok()));
    }
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_granted_in_order_and_gone_ones_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let locks = NamedLocks::new(folder.path().join("queues"));
        let first = locks.request("db", "first").unwrap();
        let second = locks.request("db", "second").unwrap();
        let third = locks.request("db", "third").unwrap();
        let other = locks.request("other", "x").unwrap();
        let before = |request: &LockRequest| request.queue().unwrap().before;
        assert_eq!(before(&first), [""; 0]);
        assert_eq!(before(&third), ["first", "second"]);
        assert_eq!(before(&other), [""; 0]);
        assert!(first.queue().unwrap().is_followed && !third.queue().unwrap().is_followed);
        drop(second);
        assert_eq!(before(&third), ["first"]);
        // A file that no process keeps locked, as after a kill, does not count.
        std::fs::write(path_of(&third.folder, 0), "killed").unwrap();
        drop(first);
        assert_eq!(before(&third), [""; 0]);
        assert!(!path_of(&third.folder, 0).exists());
    }
}
