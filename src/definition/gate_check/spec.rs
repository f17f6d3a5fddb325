//! [`CheckKind`]: what the loader needs to know of a kind of check.

use crate::definition::model::Check;
use crate::definition::syntax::{Decoder, Fields, Node};

/// One kind of check: its kind key and its decoder.
pub(super) struct CheckKind {
    /// The kind key.
    pub(super) key: &'static str,
    /// Decodes the value of the kind key, with the other keys of the check.
    pub(super) decode: fn(&Node, &Fields<'_>, &mut Decoder) -> Option<Check>,
}
