use super::CliError;
use std::future::Future;

/// Runs a future to its end on a runtime of its own. Only commands that need one make it.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let value = runtime.block_on(future);
    // A blocking read that nobody waits for any more must not hold the process.
    runtime.shutdown_background();
    Ok(value)
}
