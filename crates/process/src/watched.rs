//! Registers descriptors with the tokio runtime.

use rustix::fd::OwnedFd;
use std::io;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the current runtime.
pub(super) fn watched(descriptor: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` names the same open descriptor for as long as it lives, and `AsyncFd`
    // owns it.
    #[allow(unsafe_code)]
    let registered = unsafe { AsyncFd::register_with_interest(descriptor, interest)? };
    Ok(registered)
}
