//! How the engine resolves secrets.

use futures::future::BoxFuture;
use kb_attempt::Live;
use kb_base::value::Failure;
use kb_language::plan::Touched;
use tokio_util::sync::CancellationToken;

/// Resolves secrets. A returned value is known to the redactor. Only [`Secrets::fetch`] waits.
pub trait Secrets: Send + Sync {
    /// The value of a secret by its name in the settings.
    fn by_name(&self, name: &str) -> Option<String>;
    /// The value of a reference (`env:NAME`, `file:PATH`) in a `secret` parameter.
    fn by_reference(&self, reference: &str) -> Option<String>;
    /// Why a secret, by its name or reference, has no value, and the fix; `None` if that is not known.
    fn problem(&self, _secret: &str) -> Option<(String, String)> {
        None
    }
    /// Whether a secret must be fetched before it can be read, for example by running a command, or
    /// cannot be resolved and the fetch reports why.
    fn is_missing(&self, _secret: &str) -> bool {
        false
    }
    /// Fetches a secret, so that `by_name` returns it until this process ends. `touched` is the step that could
    /// write to the files of the run before, asked when a command starts.
    fn fetch<'a>(
        &'a self,
        _secret: &'a str,
        _touched: &'a Live<Option<Touched>>,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async { Ok(()) })
    }
    /// Tells of the run that executes, of which others are child runs: who could write to its files.
    fn follow(&self, _touched: Live<Option<Touched>>) {}
}
