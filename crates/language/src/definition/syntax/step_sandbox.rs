//! Decodes `sandbox:` of a step.

use super::{Decoder, Node};
use crate::definition::model::{AuthorSandbox, SandboxOpening, StepSandbox};
use std::sync::Arc;

/// Decodes `sandbox: auto`, `always` or `never`, or what an always confined step opens.
pub(super) fn sandbox(node: &Node, key: &str, decoder: &mut Decoder) -> Option<StepSandbox> {
    if node.as_map().is_none() {
        return Some(decoder.choice::<AuthorSandbox>(node, key)?.into());
    }
    let opening = SandboxOpening::from_node(node, decoder)?;
    Some(StepSandbox { when: AuthorSandbox::Always, opening: Arc::new(opening) })
}
