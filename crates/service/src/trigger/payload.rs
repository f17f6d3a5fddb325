//! Parameters from a payload, by the declared paths only.

use kb_base::value::{Json, JsonMap};
use kb_language::definition::Trigger;

/// A payload has no value at a declared path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the payload has no `{path}`, which is the parameter `{param}`")]
pub struct PayloadError {
    /// Name of the parameter.
    pub param: String,
    /// The path as written.
    pub path: String,
}

/// The parameters of a run: the fixed values of the trigger and the declared parts of the payload.
/// A value that is missing or null is left out for parameters that `has_default` names; the others are
/// an error. The values are data: nothing of a payload is parsed as a template or a command.
pub fn parameters(
    trigger: &Trigger,
    payload: &Json,
    has_default: impl Fn(&str) -> bool,
) -> Result<JsonMap, PayloadError> {
    let mut values = trigger.params.clone();
    for (param, path) in &trigger.payload {
        match path.value(payload).filter(|value| !value.is_null()) {
            Some(value) => drop(values.insert(param.clone(), value.clone())),
            None if has_default(param) => {}
            None => {
                return Err(PayloadError { param: param.clone(), path: path.as_str().to_owned() });
            }
        }
    }
    Ok(values)
}
