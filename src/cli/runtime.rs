use super::CliError;
use std::future::Future;

/// Runs a future to its end on a runtime of its own. Only commands that need one make it.
///
/// One worker: what a run does on it is waiting for others, and everything heavy has threads of its
/// own. A second worker is woken for each step and finds nothing to do.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, CliError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let value = runtime.block_on(future);
    // A blocking read that nobody waits for any more must not hold the process.
    runtime.shutdown_background();
    Ok(value)
}
