//! [`Event`]: what happened, and whether `when` of a trigger lets it start a run.

use kb_base::value::Json;
use kb_language::definition::Trigger;
use kb_language::expression::{Root, Scope};
use std::sync::Arc;

/// What happened.
pub(super) struct Event<'e> {
    /// The payload that the trigger reads.
    pub payload: &'e Json,
    /// Headers of a delivery, an object; null for other events.
    pub headers: &'e Json,
    /// Number of triggers in a row that led to it.
    pub depth: u32,
}

impl Event<'_> {
    /// Why `when` of a trigger does not let the event start a run.
    pub(super) fn left_out(&self, trigger: &Trigger) -> Option<String> {
        let when = trigger.when.as_ref()?;
        match when.truth(self) {
            Ok(true) => None,
            Ok(false) => Some(format!("`when` is false: {}", when.source())),
            Err(error) => Some(format!("`when` cannot be evaluated: {error}")),
        }
    }
}

impl Scope for Event<'_> {
    fn lookup(&self, root: &Root, _: Option<&str>) -> Option<Arc<Json>> {
        let Root::Param(name) = root else { return None };
        let value = if **name == *"headers" { self.headers } else { self.payload };
        Some(Arc::new(value.clone()))
    }
}
