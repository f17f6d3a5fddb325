//! The namespaces of a sandboxed process besides its PID namespace: mounts, System V IPC, network.

use super::clone::{Stack, until_exec};
use super::errno::last_errno;
use super::kept::Kept;
use crate::sandbox::Isolation;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::ffi::{c_char, c_int};
use std::os::fd::AsRawFd;

/// The flags of `clone` for the namespaces that each process has for itself. The others are those of [`Kept`].
pub(super) fn namespaces(isolation: Isolation) -> c_int {
    if isolation.has(Isolation::MOUNTS) { libc::CLONE_NEWIPC } else { 0 }
}

/// Starts the loopback interface of the network namespace of this process.
pub(super) fn start_loopback() -> Result<(), Errno> {
    let socket: OwnedFd =
        socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: all fields of the structure may be zero.
    #[allow(unsafe_code)]
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[..2].copy_from_slice(&[b'l' as c_char, b'o' as c_char]);
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as _;
    // SAFETY: the structure is the one for this request.
    #[allow(unsafe_code)]
    let done =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw mut request) };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Finds out in which ways this system can isolate processes, with a child that ends at once.
pub(super) fn detect(stack: &mut Stack) -> Isolation {
    let mut found = Isolation::default();
    let mut attempt = |isolation: Isolation| {
        let (mut kept, mut works) = (Kept::default(), false);
        let Ok(entry) = kept.entry(stack, isolation, &[]) else { return false };
        let child = until_exec(stack, namespaces(isolation), &mut || {
            works = entry.enter().is_ok();
            0
        });
        if let Ok(child) = child {
            let _ = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty());
        }
        works
    };
    let parts = [Isolation::MOUNTS, Isolation::NETWORK];
    let all = parts.into_iter().fold(Isolation::default(), Isolation::with);
    // One process where everything is available, which is the usual case.
    if attempt(all) {
        return all;
    }
    for part in parts {
        if attempt(part) {
            found = found.with(part);
        }
    }
    found
}
