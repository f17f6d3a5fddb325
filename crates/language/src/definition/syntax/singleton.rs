//! Decodes `singleton:` of a specialist.

use super::{Decoder, Node, Value};
use crate::definition::keys::keys;

keys! {
    /// The lock of a specialist.
    struct SingletonKeys(): SINGLETON = ("singleton", "`singleton`") {
        /// Whether attempts of the specialist hold the lock.
        enabled: bool = "enabled", default("true");
        /// First part of the name of the lock; the second is the id.
        prefix: Option<String> = "queuePrefix" => prefix, default("singleton"), example("agents");
    }
}

/// First part of the name of the lock of a specialist, unless `queuePrefix` names another one.
const PREFIX: &str = "singleton";

/// Decodes `singleton:`: the first part of the name of the lock that an attempt of the specialist holds.
pub(super) fn singleton(node: &Node, key: &str, decoder: &mut Decoder) -> Option<String> {
    if matches!(node.value, Value::Scalar(_)) {
        return decoder.boolean(node, key)?.then(|| PREFIX.to_owned());
    }
    let own = SingletonKeys::from_node(node, decoder)?;
    own.enabled.then(|| own.prefix.unwrap_or_else(|| PREFIX.to_owned()))
}

fn prefix(node: &Node, key: &str, decoder: &mut Decoder) -> Option<String> {
    decoder.lock_name(node, key)
}
