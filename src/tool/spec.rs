use super::{Call, CallResult, ToolLevel, Toolbox};
use crate::value::Json;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// A tool.
pub trait Tool: Send + Sync {
    /// What it is.
    fn spec(&self) -> &ToolSpec;
    /// Does it, with arguments that fit its schema. Policy has been asked; paths have not been
    /// resolved: tools do that through the workspace's guard.
    fn call<'a>(
        &'a self,
        call: &'a Call,
        toolbox: &'a Toolbox,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult>;
}

/// What a tool is.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// `namespace:verb`.
    pub name: &'static str,
    /// How dangerous.
    pub level: ToolLevel,
    /// For models and people.
    pub description: &'static str,
    /// JSON Schema of its arguments.
    pub input: Json,
    /// JSON Schema of its result.
    pub output: Json,
    /// Whether calling it twice changes nothing: an unknown outcome may then be asked again.
    pub only_reads: bool,
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDescription {
    /// `namespace:verb`; providers that refuse the colon get it rewritten elsewhere.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Json,
}

impl ToolDescription {
    pub(super) fn of(spec: &ToolSpec) -> ToolDescription {
        ToolDescription {
            name: spec.name.to_owned(),
            description: spec.description.to_owned(),
            schema: spec.input.clone(),
        }
    }
}
