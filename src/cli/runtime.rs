use super::CliError;
use rustix::process::Signal;
use std::future::Future;
use tokio::signal::unix::{SignalKind, signal};

/// Runs a future to its end on a runtime of its own. Only commands that need one make it.
///
/// One worker: what a run does on it is waiting for others, and everything heavy has threads of its
/// own. A second worker is woken for each step and finds nothing to do.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, CliError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
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
