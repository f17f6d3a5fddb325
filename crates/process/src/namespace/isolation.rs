//! The namespaces of a sandboxed process besides its PID namespace: mounts, System V IPC, network.

use super::clone::{Stack, until_exec};
use super::kept::{Kept, of_child};
use super::new_root;
use crate::sandbox::Isolation;
use std::ffi::c_int;

/// The flags of `clone` for the namespaces that each process has for itself. The others are those of [`Kept`].
pub(super) fn namespaces(isolation: Isolation) -> c_int {
    if isolation.has(Isolation::MOUNTS) { libc::CLONE_NEWIPC } else { 0 }
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
        found = all;
    } else {
        for part in parts.into_iter().filter(|part| attempt(*part)) {
            found = found.with(part);
        }
    }
    let overlays =
        of_child(stack, libc::CLONE_NEWNS, c"/proc/self/ns/mnt", &mut new_root::has_overlays);
    if overlays.is_ok() { found.with(Isolation::OVERLAYS) } else { found }
}
