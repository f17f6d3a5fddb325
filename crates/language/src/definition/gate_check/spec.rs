//! [`CheckKind`]: what every kind of check declares.

use crate::definition::keys::KeySpec;
use crate::definition::syntax::{Decoder, Fields, Node};
use crate::expression::Reference;

/// One kind of check: its keys, its decoder and what the plan and the engine need to know of it.
pub(super) trait CheckKind: Sized {
    /// The key that selects the check in a gate.
    const NAME: &'static str;
    /// The kind key and the keys that only checks of this kind have.
    const KEYS: &'static [KeySpec];

    /// Decodes the value of the kind key, with the other keys of the check.
    fn decode(node: &Node, fields: &Fields<'_>, decoder: &mut Decoder) -> Option<Self>;

    /// The texts of the check, each with the references that it reads.
    fn references(&self) -> Vec<Vec<&Reference>>;

    /// Whether the verdict depends on the recorded file changes of the step.
    fn reads_changes(&self) -> bool;

    /// The key because of which the check needs a step that does work, if it does: a `gate` step
    /// changes nothing, and nothing happens before it.
    fn needs_work(&self) -> Option<&'static str> {
        None
    }
}
