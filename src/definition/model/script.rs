use crate::expression::{EvalError, Root, Scope, ValueTemplate};
use crate::value::Json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A model whose answers are written down (LANGUAGE §11).
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// Turns by step id, instance (`review[a.rs]`) or attempt (`implement#2`).
    pub steps: BTreeMap<String, Vec<ScriptTurn>>,
}

/// One answer.
#[derive(Debug, Clone, Default)]
pub struct ScriptTurn {
    /// Text.
    pub say: Option<String>,
    /// Tool calls.
    pub calls: Vec<ScriptCall>,
    /// The final output, handed in through `submit_output`.
    pub output: Option<ValueTemplate>,
    /// Prompt and completion tokens.
    pub usage: Option<(u64, u64)>,
    /// How long the model takes.
    pub delay: Option<Duration>,
    /// Fails instead.
    pub error: Option<ScriptError>,
}

/// One tool call of a turn.
#[derive(Debug, Clone)]
pub struct ScriptCall {
    /// The tool's name; not checked, so that scripts can call what is not there.
    pub tool: String,
    /// Its arguments; may hold placeholders over `params`.
    pub args: ValueTemplate,
}

/// A failing answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// HTTP status; 0 is a cut stream.
    pub status: u16,
    /// What the provider asks for.
    pub retry_after: Option<Duration>,
    /// Its words.
    pub message: Option<String>,
}

impl ScriptTurn {
    /// The final output with its placeholders filled from the run's parameters.
    pub fn output_with(&self, params: &Arc<Json>) -> Option<Result<Json, EvalError>> {
        self.output.as_ref().map(|output| fill(output, params))
    }
}

impl ScriptCall {
    /// The arguments with their placeholders filled from the run's parameters.
    pub fn args_with(&self, params: &Arc<Json>) -> Result<Json, EvalError> {
        fill(&self.args, params)
    }
}

fn fill(template: &ValueTemplate, params: &Arc<Json>) -> Result<Json, EvalError> {
    template.evaluate(&ParamScope(params))
}

/// A script knows the run's parameters and nothing else.
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
