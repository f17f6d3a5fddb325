//! [`Node`]: a YAML value with its position in the source.

use super::scalar::{Number, ScalarKind, number};
use crate::expression::Origin;
use kb_base::diagnostic::Span;
use kb_base::value::{Json, JsonMap};
use smol_str::SmolStr;

/// A value of a YAML document with its position.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// The value itself.
    pub(crate) value: Value,
    /// Span of the scalar with its quotes, of the flow collection with its brackets, or of the first
    /// key or item of a block collection.
    pub(crate) span: Span,
}

/// The value of a [`Node`].
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Scalar(Scalar),
    Seq(Vec<Node>),
    /// Entries in the order of the file; of duplicate keys only the first.
    Map(Vec<(Key, Node)>),
    /// A value with an error that was already reported; decoders skip it.
    Invalid,
}

/// A map key with its position.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) text: SmolStr,
    pub(crate) span: Span,
}

/// A scalar: its text and its type.
#[derive(Debug, Clone)]
pub(crate) struct Scalar {
    pub(crate) text: SmolStr,
    pub(crate) kind: ScalarKind,
    /// Number of bytes between the start of the span and the text, if the source contains the text
    /// unchanged: without escapes and on one line.
    pub(crate) verbatim: Option<u8>,
}

impl Node {
    /// The type of the value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Seq(_) => "a list",
            Value::Map(_) => "a map",
            Value::Invalid => "an invalid value",
            Value::Scalar(scalar) => match scalar.kind {
                ScalarKind::Null => "nothing",
                ScalarKind::Bool(_) => "a boolean",
                ScalarKind::Number if matches!(scalar.number(), Some(Number::Float(_))) => {
                    "a number with a fraction"
                }
                ScalarKind::Number => "a number",
                ScalarKind::Text => "a text",
            },
        }
    }

    /// Whether the value is empty or a literal null.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(Scalar { kind: ScalarKind::Null, .. }))
    }

    /// The text of a text scalar.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(Scalar { kind: ScalarKind::Text, text, .. }) => Some(text),
            _ => None,
        }
    }

    /// The number of a scalar.
    pub(crate) fn number(&self) -> Option<Number> {
        match &self.value {
            Value::Scalar(scalar) => scalar.number(),
            _ => None,
        }
    }

    /// The items of a list.
    pub(crate) fn as_seq(&self) -> Option<&[Node]> {
        match &self.value {
            Value::Seq(items) => Some(items),
            _ => None,
        }
    }

    /// The entries of a map.
    pub(crate) fn as_map(&self) -> Option<&[(Key, Node)]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of a map key with exactly this spelling.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.as_map()?.iter().find(|(own, _)| own.text == *key).map(|(_, node)| node)
    }

    /// The value of a map key with exactly this spelling, for changing it.
    pub(crate) fn value_mut(&mut self, key: &str) -> Option<&mut Value> {
        let Value::Map(entries) = &mut self.value else { return None };
        let found = entries.iter_mut().find(|(own, _)| own.text == *key);
        found.map(|(_, node)| &mut node.value)
    }

    /// Takes the items out of the list under a key; the empty list stays in the tree.
    pub(crate) fn take_items(&mut self, key: &str) -> Vec<Node> {
        let Value::Map(entries) = &mut self.value else { return Vec::new() };
        let found = entries.iter_mut().find(|(own, _)| own.text == *key);
        match found.map(|(_, node)| &mut node.value) {
            Some(Value::Seq(items)) => std::mem::take(items),
            _ => Vec::new(),
        }
    }

    /// Position of its text, for diagnostics inside it.
    pub(crate) fn origin(&self) -> Origin {
        let verbatim = match &self.value {
            Value::Scalar(scalar) => {
                scalar.verbatim.map(|before| self.span.start + u32::from(before))
            }
            _ => None,
        };
        Origin { span: self.span, verbatim }
    }

    /// The value as JSON, without positions.
    pub(crate) fn to_json(&self) -> Json {
        match &self.value {
            Value::Invalid => Json::Null,
            Value::Seq(items) => Json::Array(items.iter().map(Node::to_json).collect()),
            Value::Map(entries) => Json::Object(
                entries
                    .iter()
                    .map(|(key, node)| (key.text.to_string(), node.to_json()))
                    .collect::<JsonMap>(),
            ),
            Value::Scalar(scalar) => scalar.to_json(),
        }
    }
}

impl Scalar {
    /// The value of a number.
    pub(crate) fn number(&self) -> Option<Number> {
        number(&self.text).filter(|_| self.kind == ScalarKind::Number)
    }

    fn to_json(&self) -> Json {
        match self.kind {
            ScalarKind::Null => Json::Null,
            ScalarKind::Bool(value) => Json::Bool(value),
            ScalarKind::Number => match self.number() {
                Some(Number::Int(value)) => value.into(),
                Some(Number::UInt(value)) => value.into(),
                Some(Number::Float(value)) => value.into(),
                None => Json::Null,
            },
            ScalarKind::Text => Json::String(self.text.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_a_large_file_is_small() {
        let sizes = (size_of::<Key>(), size_of::<Node>());
        assert!(sizes <= (40, 48), "{sizes:?}");
    }
}
