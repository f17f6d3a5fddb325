//! Failures of trees, and running what blocks.

use kb_attempt::TreeRequest;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use std::io;
use std::path::Path;

/// The failure for a file of `kb` that cannot be used.
pub(super) fn unusable(path: &Path, error: &io::Error) -> Box<Failure> {
    let message = format!("`{}` cannot be used: {error}", path.display());
    let failure = Failure::new(Code::TREE_UNAVAILABLE, message);
    Box::new(match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            failure.help("free space on that disk, or set `XDG_STATE_HOME` to another one")
        }
        _ => failure.help("check the permissions and the disk of that folder"),
    })
}

/// The failure for a tree that was removed from outside.
pub(crate) fn gone(request: &TreeRequest) -> Box<Failure> {
    let TreeRequest { run, instance, .. } = request;
    let message =
        format!("the files of `{instance}` do not exist any more, so its changes are lost");
    let help = format!("do the work again: `kb run retry {run} --from {}`", instance.step);
    Box::new(Failure::new(Code::TREE_UNAVAILABLE, message).help(help))
}

/// One failure for several.
pub(super) fn joined(mut failures: Vec<Failure>) -> Option<Failure> {
    let more = failures.len().saturating_sub(1);
    let first = (!failures.is_empty()).then(|| failures.remove(0))?;
    if more == 0 {
        return Some(first);
    }
    let others: Vec<&str> = failures.iter().map(|failure| failure.message.as_str()).collect();
    let message = format!("{}; {}", first.message, others.join("; "));
    Some(Failure { message, ..first })
}

/// Runs a computation that reads and writes files.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Box<Failure>> + Send + 'static,
) -> Result<T, Box<Failure>> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        let message = format!("the merge was stopped: {error}");
        Err(Box::new(Failure::new(Code::INTERNAL_ERROR, message)))
    })
}
