//! [`KeyValue`]: the types that keys can have as their values, each with its decoder.

use super::{Decoder, Fields, Node};
use crate::definition::keys::{Choice, KeySpec, KeyType};
use kb_base::value::{Money, parse_duration};
use std::time::Duration;

/// A type of values under keys.
pub(crate) trait KeyValue: Sized {
    /// Its type in the tables of keys.
    const TYPE: KeyType;

    /// Decodes a value, within the limits that the key declares. `None`: the reason is reported.
    fn decode(node: &Node, key: &KeySpec, decoder: &mut Decoder) -> Option<Self>;

    /// The value of an absent key: its default. `None`: the key has none.
    fn absent(key: &KeySpec) -> Option<Self>;
}

impl<T: KeyValue> KeyValue for Option<T> {
    const TYPE: KeyType = T::TYPE;

    fn decode(node: &Node, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        Some(T::decode(node, key, decoder))
    }

    fn absent(_: &KeySpec) -> Option<Self> {
        Some(None)
    }
}

impl KeyValue for Vec<String> {
    const TYPE: KeyType = KeyType::ListOrOne(&KeyType::Text);

    fn decode(node: &Node, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        Some(decoder.texts(node, key.name))
    }

    fn absent(_: &KeySpec) -> Option<Self> {
        Some(Vec::new())
    }
}

impl KeyValue for String {
    const TYPE: KeyType = KeyType::Text;

    fn decode(node: &Node, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        decoder.text(node, key.name).map(str::to_owned)
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        Some(key.default.to_owned()).filter(|_| !key.required)
    }
}

impl KeyValue for bool {
    const TYPE: KeyType = KeyType::Boolean;

    fn decode(node: &Node, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        decoder.boolean(node, key.name)
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        key.default.parse().ok()
    }
}

impl KeyValue for u32 {
    const TYPE: KeyType = KeyType::Integer(0, u32::MAX);

    fn decode(node: &Node, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        let (least, most) = key.integers();
        decoder.integer(node, key.name, least, most)
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        key.default.parse().ok()
    }
}

impl KeyValue for f64 {
    const TYPE: KeyType = KeyType::Number(f64::NEG_INFINITY, f64::INFINITY);

    fn decode(node: &Node, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        let (least, most) = key.numbers();
        decoder.number(node, key.name, least, most)
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        key.default.parse().ok()
    }
}

impl KeyValue for u64 {
    const TYPE: KeyType = KeyType::Number(0.0, f64::INFINITY);

    fn decode(node: &Node, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        f64::decode(node, key, decoder).map(|number| number as u64)
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        key.default.parse().ok()
    }
}

impl KeyValue for Money {
    const TYPE: KeyType = KeyType::Number(0.0, f64::INFINITY);

    fn decode(node: &Node, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        f64::decode(node, key, decoder).map(Money::from_usd)
    }

    fn absent(_: &KeySpec) -> Option<Self> {
        None
    }
}

impl KeyValue for Duration {
    const TYPE: KeyType = KeyType::Duration;

    fn decode(node: &Node, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        decoder.duration(node, key.name)
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        parse_duration(key.default).ok()
    }
}

impl<T: Choice> KeyValue for T {
    const TYPE: KeyType = KeyType::Choice(T::NAMES);

    fn decode(node: &Node, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        decoder.choice(node, key.name)
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        T::CHOICES.iter().find(|(name, _)| *name == key.default).map(|(_, value)| *value)
    }
}

impl Decoder {
    /// Decodes the value of a key. A value that is refused is replaced by that of an absent key; `None`: a required
    /// key is missing or refused.
    pub(crate) fn value<T: KeyValue>(
        &mut self,
        fields: &Fields<'_>,
        key: &'static KeySpec,
    ) -> Option<T> {
        if key.required {
            return T::decode(self.required(fields, key.name)?, key, self);
        }
        let found = fields.get(key.name).and_then(|node| T::decode(node, key, self));
        found.or_else(|| T::absent(key))
    }
}
