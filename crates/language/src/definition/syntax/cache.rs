//! Decodes `cache:`.

use super::{Decoder, Fields, Node, ScalarKind, Secrets, Value};
use crate::definition::check::pattern;
use crate::definition::keys::choices::CACHE_SCOPE;
use crate::definition::keys::step_parts;
use crate::definition::model::Cache;
use crate::expression::Template;

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
            return self.boolean(node, "cache")?.then_some(Cache::DEFAULT);
        }
        let fields = self.fields(node, &step_parts::CACHE)?;
        let key = fields.get("key");
        Some(Cache {
            key: key.and_then(|node| self.scalar_template(node, "key", Secrets::Refused)),
            inputs: fields.get("inputs").map(|_| self.globs(&fields, "inputs")),
            outputs: self.globs(&fields, "outputs"),
            ttl: fields.duration("ttl", self),
            scope: fields.choice("scope", CACHE_SCOPE, self).unwrap_or_default(),
        })
    }

    /// The globs of a key; empty if it is absent.
    fn globs(&mut self, fields: &Fields<'_>, key: &str) -> Vec<Template> {
        let node = fields.get(key);
        node.and_then(|node| pattern::project_globs(node, key, self)).unwrap_or_default()
    }
}
