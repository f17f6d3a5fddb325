use super::reference::Root;
use crate::value::{Failure, Json};
use std::sync::Arc;

/// Where evaluation finds its values. Asked only for roots that the parsed text refers to.
pub trait Scope {
    /// The value of a root, or of one field of it (`output`, `status`, … of a step; a field of
    /// `run` or `loop`). `None` is undefined. A step that has not ended has `status` alone.
    fn lookup(&self, root: &Root, field: Option<&str>) -> Option<Arc<Json>>;
}

/// Why an evaluation has no value. It becomes the step's failure, code `KB03xx`.
pub type EvalError = Box<Failure>;
