//! The items of an expanded `forEach` step.

use super::event::InstanceIx;
use crate::evidence::Payload;
use std::borrow::Cow;
use std::num::NonZeroU32;

/// The position of an item in its `forEach` step.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Instance of the step.
    pub parent: InstanceIx,
    number: NonZeroU32,
    /// `None` if the key is the index. Boxed twice: every step has the size of this field, and few a key.
    key: Option<Box<Box<str>>>,
}

impl Item {
    /// Creates an item with an index, from 0, and a key.
    pub fn new(parent: InstanceIx, index: u32, key: &str) -> Item {
        let key = (key != index.to_string()).then(|| Box::new(key.into()));
        Item { parent, number: NonZeroU32::MIN.saturating_add(index), key }
    }

    /// Index of the item, from 0.
    pub fn index(&self) -> u32 {
        self.number.get() - 1
    }

    /// Key of the item, unique in its step.
    pub fn key(&self) -> Cow<'_, str> {
        match &self.key {
            Some(key) => Cow::Borrowed(key),
            None => Cow::Owned(self.index().to_string()),
        }
    }
}

/// The items of an expanded `forEach` step.
#[derive(Debug, Clone, PartialEq)]
pub struct Items {
    /// Number of the first item; the others follow.
    pub first: InstanceIx,
    /// Number of items.
    pub count: u32,
    /// The list of items.
    pub values: Payload,
    /// Whether the output is a map by key instead of a list.
    pub keyed: bool,
    pub(super) ended: u32,
    pub(super) failed: u32,
    pub(super) next: u32,
}

impl Items {
    /// Numbers of the items.
    pub fn all(&self) -> impl Iterator<Item = InstanceIx> + Clone + use<> {
        (self.first.0..self.first.0 + self.count).map(InstanceIx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_an_item_defaults_to_its_index() {
        let item = |index, key| Item::new(InstanceIx(0), index, key);
        assert_eq!((item(7, "7").key().as_ref(), item(7, "7").key), ("7", None));
        assert_eq!((item(7, "07").key().as_ref(), item(7, "").key().as_ref()), ("07", ""));
        assert_eq!(item(7, "x").index(), 7);
    }
}
