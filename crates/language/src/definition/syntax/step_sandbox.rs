//! Decodes `sandbox:` of a step.

use super::{Decoder, Node};
use crate::definition::model::{AuthorSandbox, SandboxOpening, StepSandbox};
use std::sync::Arc;

impl Decoder {
    /// Decodes `sandbox: auto`, `always` or `never`, or what an always confined step opens.
    pub(crate) fn step_sandbox(&mut self, node: &Node) -> Option<StepSandbox> {
        if node.as_map().is_none() {
            return Some(self.choice::<AuthorSandbox>(node, "sandbox")?.into());
        }
        let opening = SandboxOpening::from_node(node, self)?;
        Some(StepSandbox { when: AuthorSandbox::Always, opening: Arc::new(opening) })
    }
}
