//! Decodes `singleton:` of a specialist.

use super::{Decoder, Fields, Value};
use crate::definition::keys;

/// First part of the name of the lock of a specialist, unless `queuePrefix` names another one.
const PREFIX: &str = "singleton";

impl Decoder {
    /// Decodes `singleton:`: the first part of the name of the lock that an attempt of the specialist holds.
    pub(super) fn singleton(&mut self, fields: &Fields<'_>) -> Option<String> {
        let node = fields.get("singleton")?;
        if matches!(node.value, Value::Scalar(_)) {
            return self.boolean(node, "singleton")?.then(|| PREFIX.to_owned());
        }
        let own = self.fields(node, &keys::specialist::SINGLETON)?;
        let is_enabled = own.boolean("enabled", self).unwrap_or(true);
        let prefix = match own.get("queuePrefix") {
            Some(node) => self.lock_name(node, "queuePrefix")?,
            None => PREFIX.to_owned(),
        };
        is_enabled.then_some(prefix)
    }
}
