//! Decodes `sandbox:` of a step, and of the settings for all steps.

use super::{Decoder, KeyValue, Node};
use crate::definition::keys::{KeySpec, KeyType, choice};
use crate::definition::model::{AuthorSandbox, SandboxOpening, StepSandbox};
use std::sync::Arc;

/// `auto`, `always` or `never`, or what an always confined step opens.
impl KeyValue for StepSandbox {
    const TYPE: KeyType =
        KeyType::OneOf(const { &[choice::<AuthorSandbox>(), SandboxOpening::MAP] });

    fn decode(node: &Node, name: &str, _: &KeySpec, decoder: &mut Decoder) -> Option<StepSandbox> {
        if node.as_map().is_none() {
            return Some(decoder.choice::<AuthorSandbox>(node, name)?.into());
        }
        let opening = SandboxOpening::from_node(node, decoder)?;
        Some(StepSandbox { when: AuthorSandbox::Always, opening: Arc::new(opening) })
    }

    fn absent(_: &KeySpec) -> Option<StepSandbox> {
        Some(StepSandbox::default())
    }
}
