//! The model of a script: written responses that replace those of a model.

use crate::expression::{EvalError, Root, Scope, ValueTemplate};
use kb_base::value::Json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A script: the responses of a model, written down (`kb.script/1`).
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// Turns by [names of attempts](kb_base::value::AttemptName).
    pub steps: BTreeMap<String, Vec<ScriptTurn>>,
}

/// One response of the model.
#[derive(Debug, Clone, Default)]
pub struct ScriptTurn {
    /// Text of the response.
    pub say: Option<String>,
    /// Tool calls, in order.
    pub calls: Vec<ScriptCall>,
    /// Final output, submitted with `submit_output`.
    pub output: Option<ValueTemplate>,
    /// Reported prompt and completion tokens.
    pub usage: Option<(u64, u64)>,
    /// Delay before the response.
    pub delay: Option<Duration>,
    /// Error instead of a response.
    pub error: Option<ScriptError>,
    /// What the model was given when the turn was recorded: names with digests.
    pub given: Vec<String>,
}

/// One tool call of a turn.
#[derive(Debug, Clone)]
pub struct ScriptCall {
    /// Name of the tool. Not checked, so that a script can call a tool that does not exist.
    pub tool: String,
    /// Arguments; placeholders can read `params`.
    pub args: ValueTemplate,
}

/// An error response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// HTTP status; 0 stands for a broken stream.
    pub status: u16,
    /// Delay that the provider asks for before a retry.
    pub retry_after: Option<Duration>,
    /// Error message of the provider.
    pub message: Option<String>,
}

impl ScriptTurn {
    /// The final output, rendered with the parameters of the run.
    pub fn output_with(&self, params: &Arc<Json>) -> Option<Result<Json, EvalError>> {
        self.output.as_ref().map(|output| fill(output, params))
    }
}

impl ScriptCall {
    /// The arguments, rendered with the parameters of the run.
    pub fn args_with(&self, params: &Arc<Json>) -> Result<Json, EvalError> {
        fill(&self.args, params)
    }
}

fn fill(template: &ValueTemplate, params: &Arc<Json>) -> Result<Json, EvalError> {
    template.evaluate(&ParamScope(params))
}

/// The scope of a script: the parameters of the run and nothing else.
struct ParamScope<'a>(&'a Arc<Json>);

impl Scope for ParamScope<'_> {
    fn lookup(&self, root: &Root, field: Option<&str>) -> Option<Arc<Json>> {
        let own = |value: &Json, field: Option<&str>| match field {
            Some(field) => value.get(field).cloned().map(Arc::new),
            None => Some(Arc::new(value.clone())),
        };
        match (root, field) {
            (Root::Params, None) => Some(self.0.clone()),
            (Root::Params, Some(name)) => own(self.0, Some(name)),
            (Root::Param(name), field) => own(self.0.get(&**name)?, field),
            _ => None,
        }
    }
}
