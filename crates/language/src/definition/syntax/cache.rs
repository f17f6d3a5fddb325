//! Decodes `cache:`.

use super::{Decoder, Node, ScalarKind, Value};
use crate::definition::model::Cache;

/// Decodes `cache: true` or `cache: {key, inputs, outputs, ttl, scope}`; `None` for `false`.
pub(super) fn cache(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Cache> {
    match &node.value {
        Value::Map(_) => Cache::from_node(node, decoder),
        Value::Scalar(scalar) if matches!(scalar.kind, ScalarKind::Bool(_)) => {
            decoder.boolean(node, key)?.then(Cache::default)
        }
        Value::Scalar(_) | Value::Seq(_) | Value::Invalid => {
            decoder.wrong_type(node, key, "`true`, `false` or a map");
            None
        }
    }
}
