//! Stands in for Landlock and seccomp where the system is not Linux: there is no kernel sandbox, and a
//! process that needs one is not started.

use super::isolation::Isolation;
use rustix::fd::OwnedFd;
use std::io;
use std::path::Path;

/// Rules that nothing can enforce; they cannot be created.
#[derive(Debug)]
pub(crate) struct Rules(std::convert::Infallible);

/// The access that a process would have below a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Open,
    Write,
    WriteOnly,
}

impl Rules {
    pub(super) fn new() -> io::Result<Rules> {
        Err(io::Error::other("the kernel sandbox exists on Linux only"))
    }

    pub(super) fn allow(self, _: Access, _: &Path) -> io::Result<Rules> {
        match self.0 {}
    }

    pub(super) fn try_clone(&self) -> io::Result<Rules> {
        match self.0 {}
    }

    pub(crate) fn into_fd(self) -> io::Result<OwnedFd> {
        match self.0 {}
    }
}

/// A filter for system calls that is never installed.
pub(crate) struct SystemCallFilter;

impl SystemCallFilter {
    pub(crate) fn new(_: Isolation) -> SystemCallFilter {
        SystemCallFilter
    }
}

pub(crate) fn start_restricted<T: Send>(
    rules: Rules,
    _: &SystemCallFilter,
    _: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    match rules.0 {}
}

/// Whether this process may create namespaces: there are none.
pub(crate) fn is_administrator() -> bool {
    false
}

/// The version of Landlock that restricts sockets with a path.
pub(super) const SOCKETS: u32 = 9;

/// The version of Landlock: there is none.
pub(super) fn landlock_version() -> Option<u32> {
    None
}
