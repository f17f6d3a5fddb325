//! The log of the writes and syncs of a run.

use std::path::{Path, PathBuf};

/// One thing that was done to the files, or said, in its order.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) thread: u32,
    /// The monotonic clock.
    pub(crate) nanoseconds: u64,
    pub(crate) op: Op,
    pub(crate) path: PathBuf,
}

/// What was done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Op {
    Write {
        offset: u64,
        bytes: Vec<u8>,
    },
    Truncate {
        length: u64,
    },
    Create,
    MakeDirectory,
    RemoveDirectory,
    Rename {
        to: PathBuf,
    },
    Unlink,
    /// A hard link to a file that the log does not name.
    Link,
    /// A sync begins; what was written before is safe once the same thread has `Synced`.
    Sync,
    Synced,
    Unsynced,
    /// On stdout.
    Said(Vec<u8>),
}

/// Reads a log whole. A process may have been killed inside its last record.
pub(crate) fn read_log(path: &Path) -> Vec<Record> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let mut rest = bytes.as_slice();
    let mut records = Vec::new();
    while let Some((record, after)) = split(rest) {
        records.push(record);
        rest = after;
    }
    records
}

fn split(bytes: &[u8]) -> Option<(Record, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let head = std::str::from_utf8(&bytes[..end]).expect("a record's head is text");
    let parts: Vec<&str> = head.splitn(7, ' ').collect();
    let [_process, thread, nanoseconds, op, offset, length, path] = parts[..] else {
        panic!("`{head}` is no record");
    };
    let length: usize = length.parse().unwrap();
    let body = bytes.get(end + 1..end + 1 + length)?;
    let offset: u64 = offset.parse().unwrap();
    let op = match op {
        "write" => Op::Write { offset, bytes: body.to_vec() },
        "truncate" => Op::Truncate { length: offset },
        "create" => Op::Create,
        "mkdir" => Op::MakeDirectory,
        "rmdir" => Op::RemoveDirectory,
        "rename" => Op::Rename { to: PathBuf::from(std::str::from_utf8(body).unwrap()) },
        "unlink" => Op::Unlink,
        "linked" => Op::Link,
        "sync" => Op::Sync,
        "synced" => Op::Synced,
        "unsynced" => Op::Unsynced,
        "said" => Op::Said(body.to_vec()),
        other => panic!("`{other}` is no operation"),
    };
    let record = Record {
        thread: thread.parse().unwrap(),
        nanoseconds: nanoseconds.parse().unwrap(),
        op,
        path: path.into(),
    };
    Some((record, &bytes[end + 1 + length..]))
}
