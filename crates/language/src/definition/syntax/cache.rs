//! Decodes `cache:`.

use super::{Decoder, Node, ScalarKind, Value};
use crate::definition::model::Cache;

impl Decoder {
    /// Decodes `cache: true` or `cache: {key, inputs, outputs, ttl, scope}`; `None` for `false`.
    pub(crate) fn cache(&mut self, node: &Node) -> Option<Cache> {
        if node.as_map().is_none() {
            let is_boolean = matches!(&node.value, Value::Scalar(scalar)
                if matches!(scalar.kind, ScalarKind::Bool(_)));
            if !is_boolean {
                self.wrong_type(node, "cache", "`true`, `false` or a map");
                return None;
            }
            return self.boolean(node, "cache")?.then(Cache::default);
        }
        Cache::from_node(node, self)
    }
}
