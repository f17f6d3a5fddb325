//! [`ToolServer`]: what executes the calls of tools that are known only at run time.

use super::process_launcher::ProcessLauncher;
use futures::future::BoxFuture;
use kb_base::value::{Digest, Failure, Json};
use kb_language::toolspec::ToolSpec;
use kb_mcpclient::CallTalk;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Where the process of a server runs, and what of the project it sees.
pub struct ServerPlace<'a> {
    /// Starts processes in the workspace of the call.
    pub processes: &'a ProcessLauncher,
    /// Paths that the caller must not read.
    pub hidden: Vec<PathBuf>,
    /// Who hears what the server says and asks during the call.
    pub talk: Option<Arc<dyn CallTalk>>,
}

impl<'a> ServerPlace<'a> {
    /// The place of a server for all callers: it sees what commands of specialists see.
    pub async fn of(processes: &'a ProcessLauncher) -> Result<ServerPlace<'a>, Failure> {
        Ok(ServerPlace { processes, hidden: processes.unreadable().await?, talk: None })
    }
}

/// A server outside of `kb` that declares tools. The policy, limits, masking, the record of a call and the check of its
/// output are not its business.
pub trait ToolServer: Send + Sync {
    /// Executes a call. The arguments match the schema of the tool. Dropping the future ends the call.
    fn call<'a>(
        &'a self,
        tool: &'a ToolSpec,
        args: &'a Json,
        place: ServerPlace<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Json, Failure>>;

    /// What a call executes, which an approval is bound to: digests by path.
    fn code(&self, _tool: &ToolSpec, _processes: &ProcessLauncher) -> BTreeMap<String, Digest> {
        BTreeMap::new()
    }
}
