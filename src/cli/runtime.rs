//! The tokio runtime of commands that run steps or call models.

use super::exit::CliError;
use rustix::process::Signal;
use std::future::Future;
use tokio::signal::unix::{SignalKind, signal};

/// Number of tokio worker threads. Blocking work has threads of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Workers {
    /// One, for runs without model calls. A second worker would be woken for each step and find no
    /// work.
    One,
    /// One for each processor, for runs with model calls.
    All,
}

/// Runs a future to its end on a new runtime.
pub(super) fn block_on<T>(
    workers: Workers,
    future: impl Future<Output = T>,
) -> Result<T, CliError> {
    limit_heaps();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if workers == Workers::One {
        builder.worker_threads(1);
    }
    let runtime = builder.enable_all().build()?;
    let value = runtime.block_on(async {
        // Beyond the maximum file size (`ulimit -f`), SIGXFSZ would kill the process in the middle
        // of a write. With a handler, the write fails with an error instead. Child processes do
        // not inherit the handler.
        let _handler = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
        future.await
    });
    // Do not wait for blocking reads whose results are no longer needed.
    runtime.shutdown_background();
    Ok(value)
}

/// Limits the number of heaps of the allocator of glibc. Without a limit, each thread has a heap of its own,
/// and what is free in it serves no other thread. Called before the threads start.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn limit_heaps() {
    const HEAPS: libc::c_int = 2;
    // SAFETY: sets an option of the allocator; no memory is read or written through a pointer.
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, HEAPS);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn limit_heaps() {}
