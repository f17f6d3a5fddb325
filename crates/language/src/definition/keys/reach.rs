//! The tables that a table contains, directly or not.

use super::table::KeyTable;
use std::collections::BTreeMap;

/// Collects a table and every table that its values can contain.
pub(super) fn reach(
    table: &'static KeyTable,
    reached: &mut BTreeMap<&'static str, &'static KeyTable>,
) {
    if reached.insert(table.name, table).is_some() {
        return;
    }
    for ty in table.keys().map(|key| key.ty).chain(table.others) {
        ty.tables(&mut |inner| reach(inner, reached));
    }
}
