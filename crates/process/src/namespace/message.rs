//! The protocol between `kb` and a namespace worker.

use crate::result::Unreached;
use crate::sandbox::Isolation;
use crate::start_order::StartOrder;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ffi::{CStr, OsStr, OsString, c_char};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;

/// The first byte of a message from `kb` to a worker: start a process.
pub(super) const START: u8 = b'S';
/// Send SIGTERM to the process group of the step.
pub(super) const TERMINATE: u8 = b'T';
/// Send SIGKILL to every process in the namespace. The worker answers with [`Report::Clean`] once
/// none is left.
pub(super) const KILL_ALL: u8 = b'K';

/// The maximum size of an order in bytes. The strings of a longer order are sent in a memory file,
/// since the socket buffer limits the size of a message.
pub(super) const INLINE: usize = 32 << 10;

/// A report from a worker to `kb`, in eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// The init process has created the worker. The message carries its pidfd.
    Created,
    /// The worker accepts orders, and processes can be isolated in these ways.
    Ready(Isolation),
    /// The worker could not be created: the failed stage and the errno.
    Refused(Stage, i32),
    /// The process did not start; the errno.
    NotStarted(i32),
    /// The main process has ended. `leftover` says whether it left other processes behind.
    Ended { code: i32, by_signal: bool, leftover: bool, unreached: Unreached },
    /// No process is left in the namespace.
    Clean,
}

/// The stage at which creating a worker failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Entering a user namespace.
    UserNamespace,
    /// Creating the PID namespace.
    PidNamespace,
    /// Mounting `/proc`.
    Proc,
    /// Opening the signal descriptor.
    Signals,
}

impl Stage {
    /// What the system refused, for messages.
    pub(super) fn what(self) -> &'static str {
        match self {
            Stage::UserNamespace => "a user namespace",
            Stage::PidNamespace => "a PID namespace",
            Stage::Proc => "a private `/proc`",
            Stage::Signals => "a signal descriptor",
        }
    }
}

impl Report {
    pub(super) const SIZE: usize = 8;

    pub(super) fn encode(self) -> [u8; Report::SIZE] {
        let (tag, detail, value) = match self {
            Report::Created => (b'B', 0, 0),
            Report::Ready(isolation) => (b'R', isolation.bits(), 0),
            Report::Refused(stage, errno) => (b'X', stage as u8, errno),
            Report::NotStarted(errno) => (b'N', 0, errno),
            Report::Ended { code, by_signal, leftover, unreached } => {
                let flags = [by_signal, leftover, unreached.machines, unreached.servers];
                let bit = |(at, flag): (usize, &bool)| u8::from(*flag) << at;
                (b'E', flags.iter().enumerate().map(bit).sum(), code)
            }
            Report::Clean => (b'C', 0, 0),
        };
        let [a, b, c, d] = value.to_le_bytes();
        [tag, detail, 0, 0, a, b, c, d]
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Report> {
        let [tag, detail, _, _, value @ ..] = bytes.first_chunk::<{ Report::SIZE }>()?;
        let value = i32::from_le_bytes(*value);
        let stages = [Stage::UserNamespace, Stage::PidNamespace, Stage::Proc, Stage::Signals];
        Some(match tag {
            b'B' => Report::Created,
            b'R' => Report::Ready(Isolation::from_bits(*detail)),
            b'X' => Report::Refused(*stages.get(usize::from(*detail))?, value),
            b'N' => Report::NotStarted(value),
            b'E' => Report::Ended {
                code: value,
                by_signal: detail & 1 != 0,
                leftover: detail & 2 != 0,
                unreached: Unreached { machines: detail & 4 != 0, servers: detail & 8 != 0 },
            },
            b'C' => Report::Clean,
            _ => return None,
        })
    }
}

const HAS_STDIN: u8 = 1;
const HAS_RULES: u8 = 2;
const IN_FILE: u8 = 4;
const HAS_REPORT: u8 = 8;
const HEADER: usize = 15;

impl StartOrder<'_> {
    /// The message, and for a long order the memory file with its strings.
    pub(super) fn encode(&self) -> io::Result<(Vec<u8>, Option<OwnedFd>)> {
        let mut message = vec![START, 0, self.isolation.bits()];
        for count in [self.argv.len(), self.env.len(), self.mount_texts().count()] {
            let count = u32::try_from(count).map_err(|_| too_long())?;
            message.extend(count.to_le_bytes());
        }
        self.put_strings(&mut message)?;
        message[1] |= if self.stdin.is_some() { HAS_STDIN } else { 0 };
        message[1] |= if self.rules.is_some() { HAS_RULES } else { 0 };
        message[1] |= if self.report.is_some() { HAS_REPORT } else { 0 };
        if message.len() <= INLINE {
            return Ok((message, None));
        }
        message[1] |= IN_FILE;
        let file = rustix::fs::memfd_create("kb-start", rustix::fs::MemfdFlags::CLOEXEC)?;
        let mut file = File::from(file);
        file.write_all(&message[HEADER..])?;
        message.truncate(HEADER);
        Ok((message, Some(file.into())))
    }

    fn put_strings(&self, message: &mut Vec<u8>) -> io::Result<()> {
        let mut put = |parts: &[&[u8]]| {
            if parts.iter().any(|part| part.contains(&0)) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            parts.iter().for_each(|part| message.extend_from_slice(part));
            message.push(0);
            Ok(())
        };
        put(&[self.program.as_os_str().as_bytes()])?;
        put(&[self.cwd.as_os_str().as_bytes()])?;
        self.argv.iter().try_for_each(|word| put(&[word.as_bytes()]))?;
        let mut env = self.env.iter();
        env.try_for_each(|(name, value)| put(&[name.as_bytes(), b"=", value.as_bytes()]))?;
        self.mount_texts().try_for_each(|text| put(&[text.as_bytes()]))
    }

    fn mount_texts(&self) -> impl Iterator<Item = &OsStr> {
        self.mounts.0.iter().map(OsString::as_os_str).chain(self.mounts.1)
    }

    /// The descriptors that the message carries, in the order that [`Order::decode`] expects.
    pub(super) fn descriptors<'a>(&'a self, file: Option<&'a OwnedFd>) -> Vec<BorrowedFd<'a>> {
        let file = file.map(AsFd::as_fd);
        file.into_iter()
            .chain([self.stdout, self.stderr])
            .chain(self.stdin)
            .chain(self.rules)
            .chain(self.report)
            .collect()
    }
}

fn too_long() -> io::Error {
    io::ErrorKind::ArgumentListTooLong.into()
}

/// A [`StartOrder`] as the worker receives it.
pub(super) struct Order {
    strings: Vec<u8>,
    starts: Vec<usize>,
    argc: usize,
    envc: usize,
    pub(super) isolation: Isolation,
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) rules: Option<OwnedFd>,
    pub(super) report: Option<OwnedFd>,
}

impl Order {
    /// Decodes a message. Returns `None` if it is malformed.
    pub(super) fn decode(message: &[u8], descriptors: Vec<OwnedFd>) -> Option<Order> {
        let header = message.first_chunk::<HEADER>()?;
        let flags = header[1];
        let count =
            |at: usize| Some(u32::from_le_bytes(*header[at..].first_chunk::<4>()?) as usize);
        let (argc, envc) = (count(3)?, count(7)?);
        let mut descriptors = descriptors.into_iter();
        let strings = match flags & IN_FILE {
            0 => message[HEADER..].to_vec(),
            _ => read_whole(descriptors.next()?).ok()?,
        };
        let mut starts = vec![0];
        starts.extend(strings.iter().enumerate().filter(|(_, b)| **b == 0).map(|(at, _)| at + 1));
        starts.pop();
        if starts.len() != 2 + argc + envc + count(11)? {
            return None;
        }
        let (stdout, stderr) = (descriptors.next()?, descriptors.next()?);
        let stdin = if flags & HAS_STDIN != 0 { Some(descriptors.next()?) } else { None };
        let rules = if flags & HAS_RULES != 0 { Some(descriptors.next()?) } else { None };
        let report = if flags & HAS_REPORT != 0 { Some(descriptors.next()?) } else { None };
        let isolation = Isolation::from_bits(header[2]);
        Some(Order { strings, starts, argc, envc, isolation, stdin, stdout, stderr, rules, report })
    }

    fn text(&self, index: usize) -> &CStr {
        CStr::from_bytes_until_nul(&self.strings[self.starts[index]..]).unwrap_or_default()
    }

    pub(super) fn program(&self) -> &CStr {
        self.text(0)
    }

    pub(super) fn cwd(&self) -> &CStr {
        self.text(1)
    }

    /// The arguments in the form of `execve`.
    pub(super) fn argv(&self) -> Vec<*const c_char> {
        self.pointers(2, self.argc)
    }

    /// The environment in the form of `execve`.
    pub(super) fn env(&self) -> Vec<*const c_char> {
        self.pointers(2 + self.argc, self.envc)
    }

    /// The texts of the mount plan.
    pub(super) fn mounts(&self) -> Vec<&CStr> {
        (2 + self.argc + self.envc..self.starts.len()).map(|index| self.text(index)).collect()
    }

    fn pointers(&self, from: usize, count: usize) -> Vec<*const c_char> {
        let texts = (from..from + count).map(|index| self.text(index).as_ptr());
        texts.chain([std::ptr::null()]).collect()
    }
}

fn read_whole(file: OwnedFd) -> io::Result<Vec<u8>> {
    let mut file = File::from(file);
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
