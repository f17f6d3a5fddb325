use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ffi::{CStr, c_char};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What `kb` tells a cell, by the first byte of a message.
pub(super) const START: u8 = b'S';
/// SIGTERM for the step's group.
pub(super) const TERMINATE: u8 = b'T';
/// SIGKILL for everything in the cell; answered by [`Report::Clear`] once nothing is left.
pub(super) const END: u8 = b'K';

/// Longer orders travel in a memory file: a message is limited by the socket's buffer.
pub(super) const INLINE: usize = 32 << 10;

/// What a cell tells `kb`. Eight bytes a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// The keeper has made the cell; its descriptor comes along.
    Born,
    /// The cell can start processes.
    Ready,
    /// The cell could not be made.
    Refused(Stage, i32),
    /// The process did not start, for this reason of the system.
    NotStarted(i32),
    /// The main process has ended; `left` says whether others have not.
    Ended { code: i32, by_signal: bool, left: bool },
    /// Nothing is left.
    Clear,
}

/// Where the making of a cell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Entering a user namespace.
    User,
    /// Making the PID namespace.
    Pid,
    /// Mounting `/proc`.
    Proc,
    /// The signals of its PID 1.
    Signals,
}

impl Stage {
    /// What was refused, for people.
    pub(super) fn what(self) -> &'static str {
        match self {
            Stage::User => "a user namespace",
            Stage::Pid => "a PID namespace",
            Stage::Proc => "a `/proc` of its own",
            Stage::Signals => "a signal descriptor",
        }
    }
}

impl Report {
    pub(super) const SIZE: usize = 8;

    pub(super) fn encode(self) -> [u8; Report::SIZE] {
        let (tag, detail, value) = match self {
            Report::Born => (b'B', 0, 0),
            Report::Ready => (b'R', 0, 0),
            Report::Refused(stage, errno) => (b'X', stage as u8, errno),
            Report::NotStarted(errno) => (b'N', 0, errno),
            Report::Ended { code, by_signal, left } => {
                (b'E', u8::from(by_signal) | u8::from(left) << 1, code)
            }
            Report::Clear => (b'C', 0, 0),
        };
        let [a, b, c, d] = value.to_le_bytes();
        [tag, detail, 0, 0, a, b, c, d]
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Report> {
        let [tag, detail, _, _, value @ ..] = bytes.first_chunk::<{ Report::SIZE }>()?;
        let value = i32::from_le_bytes(*value);
        let stages = [Stage::User, Stage::Pid, Stage::Proc, Stage::Signals];
        Some(match tag {
            b'B' => Report::Born,
            b'R' => Report::Ready,
            b'X' => Report::Refused(*stages.get(usize::from(*detail))?, value),
            b'N' => Report::NotStarted(value),
            b'E' => {
                Report::Ended { code: value, by_signal: detail & 1 != 0, left: detail & 2 != 0 }
            }
            b'C' => Report::Clear,
            _ => return None,
        })
    }
}

/// A process to start.
pub(in crate::process) struct StartOrder<'a> {
    pub(in crate::process) program: &'a Path,
    pub(in crate::process) cwd: &'a Path,
    pub(in crate::process) argv: &'a [String],
    pub(in crate::process) env: &'a [(&'a str, &'a str)],
    /// Places that it sees read-only.
    pub(in crate::process) read_only: &'a [PathBuf],
    pub(in crate::process) stdin: Option<BorrowedFd<'a>>,
    pub(in crate::process) stdout: BorrowedFd<'a>,
    pub(in crate::process) stderr: BorrowedFd<'a>,
    /// A Landlock ruleset that it takes on.
    pub(in crate::process) rules: Option<BorrowedFd<'a>>,
}

const HAS_STDIN: u8 = 1;
const HAS_RULES: u8 = 2;
const IN_FILE: u8 = 4;
const HEADER: usize = 14;

impl StartOrder<'_> {
    /// The message, and the file that holds the rest of it where it is long.
    pub(super) fn encode(&self) -> io::Result<(Vec<u8>, Option<OwnedFd>)> {
        let mut message = vec![START, 0];
        for count in [self.argv.len(), self.env.len(), self.read_only.len()] {
            let count = u32::try_from(count).map_err(|_| too_long())?;
            message.extend(count.to_le_bytes());
        }
        self.put_strings(&mut message)?;
        message[1] |= if self.stdin.is_some() { HAS_STDIN } else { 0 };
        message[1] |= if self.rules.is_some() { HAS_RULES } else { 0 };
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
        self.read_only.iter().try_for_each(|place| put(&[place.as_os_str().as_bytes()]))
    }

    /// The descriptors that go with it, in the order in which [`Order::decode`] takes them.
    pub(super) fn descriptors<'a>(&'a self, file: Option<&'a OwnedFd>) -> Vec<BorrowedFd<'a>> {
        let file = file.map(AsFd::as_fd);
        file.into_iter()
            .chain([self.stdout, self.stderr])
            .chain(self.stdin)
            .chain(self.rules)
            .collect()
    }
}

fn too_long() -> io::Error {
    io::ErrorKind::ArgumentListTooLong.into()
}

/// A [`StartOrder`] as it arrives in a cell.
pub(super) struct Order {
    strings: Vec<u8>,
    starts: Vec<usize>,
    argc: usize,
    envc: usize,
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) rules: Option<OwnedFd>,
}

impl Order {
    /// Reads a message; none where it is malformed.
    pub(super) fn decode(message: &[u8], descriptors: Vec<OwnedFd>) -> Option<Order> {
        let header = message.first_chunk::<HEADER>()?;
        let flags = header[1];
        let count =
            |at: usize| Some(u32::from_le_bytes(*header[at..].first_chunk::<4>()?) as usize);
        let (argc, envc) = (count(2)?, count(6)?);
        let mut descriptors = descriptors.into_iter();
        let strings = match flags & IN_FILE {
            0 => message[HEADER..].to_vec(),
            _ => read_whole(descriptors.next()?).ok()?,
        };
        let mut starts = vec![0];
        starts.extend(strings.iter().enumerate().filter(|(_, b)| **b == 0).map(|(at, _)| at + 1));
        starts.pop();
        if starts.len() != 2 + argc + envc + count(10)? {
            return None;
        }
        let (stdout, stderr) = (descriptors.next()?, descriptors.next()?);
        let stdin = if flags & HAS_STDIN != 0 { Some(descriptors.next()?) } else { None };
        let rules = if flags & HAS_RULES != 0 { Some(descriptors.next()?) } else { None };
        Some(Order { strings, starts, argc, envc, stdin, stdout, stderr, rules })
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

    /// The arguments as `execve` takes them.
    pub(super) fn argv(&self) -> Vec<*const c_char> {
        self.pointers(2, self.argc)
    }

    /// The environment as `execve` takes it.
    pub(super) fn env(&self) -> Vec<*const c_char> {
        self.pointers(2 + self.argc, self.envc)
    }

    /// Places that are to be read-only.
    pub(super) fn read_only(&self) -> Vec<&CStr> {
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
