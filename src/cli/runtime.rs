use super::CliError;
use rustix::process::Signal;
use std::future::Future;
use tokio::signal::unix::{SignalKind, signal};

/// How many threads drive what waits. Everything heavy has threads of its own anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Workers {
    /// For steps that are processes and values: a second one would be woken for each step and find
    /// nothing to do.
    One,
    /// For steps that speak with models: what goes over the wire is worth both processors.
    All,
}

/// Runs a future to its end on a runtime of its own. Only commands that need one make it.
pub(super) fn block_on<T>(
    workers: Workers,
    future: impl Future<Output = T>,
) -> Result<T, CliError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if workers == Workers::One {
        builder.worker_threads(1);
    }
    let runtime = builder.enable_all().build()?;
    let value = runtime.block_on(async {
        // Past the largest size that a file may have (`ulimit -f`), the system would end the process
        // in the middle of a write. With somebody to hear the signal the write fails, and says why;
        // what is started from here hears nothing and is ended as ever.
        let _heard = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
        future.await
    });
    // A blocking read that nobody waits for any more must not hold the process.
    runtime.shutdown_background();
    Ok(value)
}
