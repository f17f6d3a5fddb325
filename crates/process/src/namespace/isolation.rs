//! The namespaces of a sandboxed process besides its PID namespace: mounts, System V IPC, network.

use super::clone::{Stack, until_exec};
use super::errno::last_errno;
use super::new_root;
use crate::sandbox::Isolation;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::ffi::{c_char, c_int};
use std::os::fd::AsRawFd;

/// The flags of `clone` for the namespaces of a process.
pub(super) fn namespaces(isolation: Isolation) -> c_int {
    let flag = |part, flag| if isolation.has(part) { flag } else { 0 };
    flag(Isolation::MOUNTS, libc::CLONE_NEWNS | libc::CLONE_NEWIPC)
        | flag(Isolation::NETWORK, libc::CLONE_NEWNET)
}

/// Prepares the new network namespace of this process: starts its loopback interface, unless the
/// process may not use the network at all.
pub(super) fn enter_network(isolation: Isolation) -> Result<(), Errno> {
    if isolation.has(Isolation::NETWORK) && !isolation.has(Isolation::NO_SOCKETS) {
        start_loopback()
    } else {
        Ok(())
    }
}

fn start_loopback() -> Result<(), Errno> {
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
        let mut works = false;
        let child = until_exec(stack, namespaces(isolation), &mut || {
            let entered = enter_network(isolation).and_then(|()| {
                if isolation.has(Isolation::MOUNTS) { new_root::enter(&[], None) } else { Ok(()) }
            });
            works = entered.is_ok();
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
