//! Named locks between runs, also of other processes, granted in the order of the requests.
//!
//! A request is a file with a number in the folder of the lock. Its process keeps it locked, so that the
//! kernel releases it when the process ends, however it ends. The request with the smallest number that is
//! still locked has the lock; a process that finds an unlocked one removes it.

use super::JournalError;
use super::lock_cycle::{self, LockCycle, Ticket};
use kb_base::value::Digest;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Maximum length of the file of a request.
const TICKET_BYTES: u64 = 64 * 1024;

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
    ticket: Ticket,
    /// Locked while the request exists.
    file: File,
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

    /// Enters the queue of a lock. `owner` says who requests it, as human-readable text; `unit` is the run, or the step
    /// of a run, whose end releases it.
    pub fn request(
        &self,
        name: &str,
        owner: &str,
        unit: &str,
    ) -> Result<LockRequest, JournalError> {
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
            let ticket = Ticket::new(name, owner, unit);
            file.write_all(ticket.text().as_bytes())?;
            Ok(LockRequest { folder: folder.clone(), number, ticket, file })
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
        let mut queue = LockQueue::default();
        for (number, ticket) in tickets(&self.folder, self.number)? {
            if number > self.number {
                queue.is_followed = true
            } else {
                queue.before.push(ticket.owner)
            }
        }
        Ok(queue)
    }

    /// Notes that the work of these runs and steps cannot end before this request is granted, so that
    /// [`cycle`](Self::cycle) of others finds it. The unit of the request is one of them.
    pub fn wait_within(&mut self, units: &[String]) -> Result<(), JournalError> {
        let failed = |error: io::Error| JournalError::of_file("lock", &self.folder, &error);
        self.ticket.wait_within(units);
        let _entry = enter(&self.folder).map_err(failed)?;
        self.file.rewind().map_err(failed)?;
        self.file.write_all(self.ticket.text().as_bytes()).map_err(failed)
    }

    /// The requests that wait for each other, if this is the one of them that has to be given up. It finds
    /// requests for which [`wait_within`](Self::wait_within) was called.
    pub fn cycle(&self) -> Result<Option<LockCycle>, JournalError> {
        let failed = |error: io::Error| JournalError::of_file("lock", &self.folder, &error);
        let mut queues = Vec::new();
        let locks = self.folder.parent().unwrap_or(&self.folder);
        for entry in std::fs::read_dir(locks).map_err(failed)? {
            let folder = entry.map_err(failed)?.path();
            if !folder.is_dir() {
                continue;
            }
            let own = if folder == self.folder { self.number } else { 0 };
            let mut queue = tickets(&folder, own).map_err(failed)?;
            if own > 0 {
                queue.push((own, self.ticket.clone()));
            }
            queue.sort_unstable_by_key(|(number, _)| *number);
            queues.push(queue.into_iter().map(|(_, ticket)| ticket).collect());
        }
        Ok(lock_cycle::find(&queues, &self.ticket))
    }
}

/// The requests in a folder but one, oldest first. Those of processes that have ended are removed.
fn tickets(folder: &Path, but: u64) -> io::Result<Vec<(u64, Ticket)>> {
    let _entry = enter(folder)?;
    let mut found = Vec::new();
    for number in numbers(folder)?.into_iter().filter(|number| *number != but) {
        let path = path_of(folder, number);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => std::fs::remove_file(&path)?,
            Err(_) => {
                let mut text = String::new();
                let _ = file.take(TICKET_BYTES).read_to_string(&mut text);
                found.push((number, Ticket::read(&text)));
            }
        }
    }
    Ok(found)
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
        let first = locks.request("db", "first", "1").unwrap();
        let second = locks.request("db", "second", "2").unwrap();
        let third = locks.request("db", "third", "3").unwrap();
        let other = locks.request("other", "x", "4").unwrap();
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

    #[test]
    fn one_of_the_requests_that_wait_for_each_other_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let locks = NamedLocks::new(folder.path().join("queues"));
        let within =
            |units: &[&str]| units.iter().map(|unit| (*unit).to_owned()).collect::<Vec<_>>();
        let _first = locks.request("group/a", "r1", "r1").unwrap();
        let _second = locks.request("group/b", "r2", "r2").unwrap();
        let mut third = locks.request("group/b", "c1", "c1").unwrap();
        let mut fourth = locks.request("group/a", "c2", "c2").unwrap();
        third.wait_within(&within(&["c1", "r1/call", "r1"])).unwrap();
        assert_eq!(third.cycle().unwrap(), None, "the other one has not said what waits for it");
        fourth.wait_within(&within(&["c2", "r2/call", "r2"])).unwrap();
        assert_eq!(third.cycle().unwrap(), None, "one of the two is enough");
        let cycle = fourth.cycle().unwrap().expect("a cycle").to_string();
        let expected = "c2 waits for the concurrency group `a`, which r1 holds; c1 waits for the concurrency group `b`, which r2 holds";
        assert_eq!(cycle, expected);
        // A request behind both is not a part of it.
        let mut beside = locks.request("group/a", "r9", "r9").unwrap();
        beside.wait_within(&within(&["r9"])).unwrap();
        assert_eq!(beside.cycle().unwrap(), None);
        drop(third);
        assert_eq!(fourth.cycle().unwrap(), None);
    }
}
