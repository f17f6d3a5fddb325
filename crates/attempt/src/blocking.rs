//! Work that blocks a thread, from asynchronous code.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Does work that blocks, such as a write of a large value or the validation of an output. Other tasks of
/// the runtime continue on other threads. Outside a runtime it is an ordinary call.
pub fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
