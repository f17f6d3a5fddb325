//! [`KeyValue`]: the types that keys can have as their values, each with its decoder.

use super::{Decoder, Fields, Key, Node, Secrets};
use crate::definition::keys::{Choice, KeySpec, KeyType};
use crate::definition::model::{Located, LocatedMap};
use crate::definition::schema::Schema;
use crate::expression::{Expression, Template, ValueTemplate};
use kb_base::diagnostic::Span;
use kb_base::value::{Json, JsonMap, Money, parse_duration};
use std::time::Duration;

/// A type of values under keys.
pub(crate) trait KeyValue: Sized {
    /// Its type in the tables of keys.
    const TYPE: KeyType;

    /// Whether the value is decoded here; if not, the absence of a required key is also reported elsewhere.
    const IS_READ: bool = true;

    /// Decodes a value, within the limits that the key declares. `name` is what messages call it: the key, or the entry of
    /// a map below it. `None`: the reason is reported.
    fn decode(node: &Node, name: &str, key: &KeySpec, decoder: &mut Decoder) -> Option<Self>;

    /// The value of an absent key: its default. `None`: the key has none.
    fn absent(key: &KeySpec) -> Option<Self>;
}

impl<T: KeyValue> KeyValue for Option<T> {
    const TYPE: KeyType = T::TYPE;

    fn decode(node: &Node, name: &str, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        Some(T::decode(node, name, key, decoder))
    }

    fn absent(_: &KeySpec) -> Option<Self> {
        Some(None)
    }
}

/// The value of a key that is only declared: it has no effect, or is decoded together with others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unread;

impl KeyValue for Unread {
    const TYPE: KeyType = KeyType::Any;
    const IS_READ: bool = false;

    fn decode(_: &Node, _: &str, _: &KeySpec, _: &mut Decoder) -> Option<Self> {
        Some(Unread)
    }

    fn absent(_: &KeySpec) -> Option<Self> {
        Some(Unread)
    }
}

/// A list of values, or one such value alone.
impl<T: KeyValue> KeyValue for Vec<T> {
    const TYPE: KeyType = KeyType::ListOrOne(const { &T::TYPE });

    fn decode(node: &Node, name: &str, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        let items = decoder.list(node, name).iter();
        Some(items.filter_map(|item| T::decode(item, name, key, decoder)).collect())
    }

    fn absent(_: &KeySpec) -> Option<Self> {
        Some(Vec::new())
    }
}

impl<T: KeyValue> KeyValue for Located<T> {
    const TYPE: KeyType = T::TYPE;

    fn decode(node: &Node, name: &str, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        Some(Located { value: T::decode(node, name, key, decoder)?, span: node.span })
    }

    fn absent(_: &KeySpec) -> Option<Self> {
        None
    }
}

impl<T: KeyValue> KeyValue for LocatedMap<T> {
    const TYPE: KeyType = KeyType::MapOf(const { &T::TYPE });

    fn decode(node: &Node, name: &str, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        Some(decoder.located(node, name, |node, name, decoder| T::decode(node, name, key, decoder)))
    }

    fn absent(_: &KeySpec) -> Option<Self> {
        Some(Vec::new())
    }
}

impl KeyValue for String {
    const TYPE: KeyType = KeyType::Text;

    fn decode(node: &Node, name: &str, _: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        decoder.text(node, name).map(str::to_owned)
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        Some(key.default.to_owned()).filter(|_| !key.required)
    }
}

impl KeyValue for bool {
    const TYPE: KeyType = KeyType::Boolean;

    fn decode(node: &Node, name: &str, _: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        decoder.boolean(node, name)
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        key.default.parse().ok()
    }
}

impl KeyValue for u32 {
    const TYPE: KeyType = KeyType::Integer(0, u32::MAX);

    fn decode(node: &Node, name: &str, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        let (least, most) = key.integers();
        decoder.integer(node, name, least, most)
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        key.default.parse().ok()
    }
}

impl KeyValue for u16 {
    const TYPE: KeyType = KeyType::Integer(0, u16::MAX as u32);

    fn decode(node: &Node, name: &str, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        u32::decode(node, name, key, decoder).and_then(|number| u16::try_from(number).ok())
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        key.default.parse().ok()
    }
}

impl KeyValue for f64 {
    const TYPE: KeyType = KeyType::Number(f64::NEG_INFINITY, f64::INFINITY);

    fn decode(node: &Node, name: &str, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        let (least, most) = key.numbers();
        decoder.number(node, name, least, most)
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        key.default.parse().ok()
    }
}

impl KeyValue for u64 {
    const TYPE: KeyType = KeyType::Number(0.0, f64::INFINITY);

    fn decode(node: &Node, name: &str, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        f64::decode(node, name, key, decoder).map(|number| number as u64)
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        key.default.parse().ok()
    }
}

impl KeyValue for Money {
    const TYPE: KeyType = KeyType::Number(0.0, f64::INFINITY);

    fn decode(node: &Node, name: &str, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        f64::decode(node, name, key, decoder).map(Money::from_usd)
    }

    fn absent(_: &KeySpec) -> Option<Self> {
        None
    }
}

impl KeyValue for Duration {
    const TYPE: KeyType = KeyType::Duration;

    fn decode(node: &Node, name: &str, _: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        decoder.duration(node, name)
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        parse_duration(key.default).ok()
    }
}

impl KeyValue for Json {
    const TYPE: KeyType = KeyType::Any;

    fn decode(node: &Node, _: &str, _: &KeySpec, _: &mut Decoder) -> Option<Self> {
        Some(node.to_json())
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        serde_json::from_str(key.default).ok()
    }
}

impl KeyValue for ValueTemplate {
    const TYPE: KeyType = KeyType::Any;

    fn decode(node: &Node, _: &str, _: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        decoder.value_template(node, Secrets::Refused)
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        Json::absent(key).map(ValueTemplate::literal)
    }
}

impl KeyValue for JsonMap {
    const TYPE: KeyType = KeyType::AnyMap;

    fn decode(node: &Node, name: &str, _: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        match node.to_json() {
            Json::Object(map) => Some(map),
            _ => {
                decoder.wrong_type(node, name, "a map");
                None
            }
        }
    }

    fn absent(_: &KeySpec) -> Option<Self> {
        Some(JsonMap::new())
    }
}

/// Declares types that a decoder reads, and that have no default.
macro_rules! values {
    ($($type:ty: $key_type:ident = |$node:ident, $name:ident, $decoder:ident| $decode:expr;)+) => {$(
        impl KeyValue for $type {
            const TYPE: KeyType = KeyType::$key_type;

            fn decode($node: &Node, $name: &str, _: &KeySpec, $decoder: &mut Decoder) -> Option<Self> {
                $decode
            }

            fn absent(_: &KeySpec) -> Option<Self> {
                None
            }
        }
    )+};
}

values! {
    Template: Template = |node, name, decoder| decoder.template(node, name, Secrets::Refused);
    Expression: Expression = |node, name, decoder| decoder.expression(node, name);
    Schema: Schema = |node, _name, decoder| Schema::decode(node, decoder);
}

impl<T: Choice> KeyValue for T {
    const TYPE: KeyType = KeyType::Choice(T::NAMES);

    fn decode(node: &Node, _: &str, key: &KeySpec, decoder: &mut Decoder) -> Option<Self> {
        decoder.choice(node, key.name)
    }

    fn absent(key: &KeySpec) -> Option<Self> {
        T::CHOICES.iter().find(|(name, _)| *name == key.default).map(|(_, value)| *value)
    }
}

impl Decoder {
    /// Decodes a map with names that the user chose, in the order of the file.
    pub(crate) fn located<T>(
        &mut self,
        node: &Node,
        key: &str,
        decode: impl Fn(&Node, &str, &mut Decoder) -> Option<T>,
    ) -> LocatedMap<T> {
        let Some(entries) = node.as_map() else {
            self.wrong_type(node, key, "a map");
            return Vec::new();
        };
        let entry = |(name, node): &(Key, Node)| {
            let value = decode(node, &name.text, self)?;
            let (start, end) = (name.span.start as usize, node.span.end as usize);
            let span = Span::new(name.span.source, start, end);
            Some((name.text.to_string(), Located { value, span }))
        };
        entries.iter().filter_map(entry).collect()
    }

    /// Decodes the value of a key. A value that is refused is replaced by that of an absent key; `None`: a required
    /// key is missing or refused.
    pub(crate) fn value<T: KeyValue>(
        &mut self,
        fields: &Fields<'_>,
        key: &'static KeySpec,
    ) -> Option<T> {
        if !T::IS_READ {
            return T::absent(key);
        }
        if key.required {
            return T::decode(self.required(fields, key.name)?, key.name, key, self);
        }
        let found = fields.get(key.name).and_then(|node| T::decode(node, key.name, key, self));
        found.or_else(|| T::absent(key))
    }
}
