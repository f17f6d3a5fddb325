//! Access to the values of names during evaluation.

use super::reference::Root;
use kb_base::value::{Failure, Json};
use std::sync::Arc;

/// Provides the values of names. Only roots that the parsed text refers to are looked up.
pub trait Scope {
    /// The value of a root or of one of its fields (`output`, `status`, … of a step; a field of `run` or
    /// `loop`). `None` means undefined. A step that has not ended has only `status`.
    fn lookup(&self, root: &Root, field: Option<&str>) -> Option<Arc<Json>>;
}

/// A scope without values, for texts without placeholders.
pub struct NoValues;

impl Scope for NoValues {
    fn lookup(&self, _: &Root, _: Option<&str>) -> Option<Arc<Json>> {
        None
    }
}

/// Why an evaluation failed. It becomes the failure of the step, with a code `KB03xx`.
pub type EvalError = Box<Failure>;
