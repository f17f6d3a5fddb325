//! [`ToolServer`]: what executes the calls of tools that are known only at run time.

use futures::future::BoxFuture;
use kb_base::value::{Failure, Json};
use kb_language::toolspec::ToolSpec;
use tokio_util::sync::CancellationToken;

/// A server outside of `kb` that declares tools. The policy, limits, masking, the record of a call and the check of its
/// output are not its business.
pub trait ToolServer: Send + Sync {
    /// Executes a call. The arguments match the schema of the tool. Dropping the future ends the call.
    fn call<'a>(
        &'a self,
        tool: &'a ToolSpec,
        args: &'a Json,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Json, Failure>>;
}
