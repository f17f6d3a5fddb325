//! Decodes `sandbox:` of a step.

use super::{Decoder, Node};
use crate::definition::keys::choices::{AUTHOR_SANDBOX, NETWORK};
use crate::definition::keys::sandbox::STEP_SANDBOX;
use crate::definition::model::{AuthorSandbox, SandboxOpening, StepSandbox};
use std::sync::Arc;

impl Decoder {
    /// Decodes `sandbox: auto`, `always` or `never`, or what an always confined step opens.
    pub(crate) fn step_sandbox(&mut self, node: &Node) -> Option<StepSandbox> {
        if node.as_map().is_none() {
            return Some(self.one_of(node, "sandbox", AUTHOR_SANDBOX)?.into());
        }
        let fields = self.fields(node, &STEP_SANDBOX)?;
        let opening = SandboxOpening {
            network: fields.choice("network", NETWORK, self).unwrap_or_default(),
            read: fields.texts("read", self),
            write: fields.texts("write", self),
        };
        Some(StepSandbox { when: AuthorSandbox::Always, opening: Arc::new(opening) })
    }
}
