//! Keys of step instances.

use super::StepId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One level below a step: an item of a `forEach`, or a child run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Segment {
    /// A `forEach` item, named by its unique key.
    Item(String),
    /// A child run, named by its key.
    Child(String),
}

/// The key of a step instance: the step itself, or one `forEach` item. Printed as `review` or
/// `review[src/a.rs]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstanceKey {
    /// The id of the step in its definition.
    pub step: StepId,
    /// Items and child runs below the step, outermost first; empty for the step itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<Segment>,
}

impl InstanceKey {
    /// The key of the step itself.
    pub fn root(step: StepId) -> Self {
        InstanceKey { step, path: Vec::new() }
    }

    /// The key of one item of a `forEach` step.
    pub fn item(step: StepId, key: impl Into<String>) -> Self {
        InstanceKey { step, path: vec![Segment::Item(key.into())] }
    }
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.step)?;
        self.path.iter().try_for_each(|segment| match segment {
            Segment::Item(key) => write!(f, "[{key}]"),
            Segment::Child(key) => write!(f, "/{key}"),
        })
    }
}
