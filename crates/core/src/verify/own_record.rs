//! Whether each entry of a list has a record of its own.

use std::collections::{BTreeMap, BTreeSet};

/// The first entry for which no record is left. `options`: the records that fit each entry.
pub(super) fn without_own(options: &[Vec<usize>]) -> Option<usize> {
    let mut taken = BTreeMap::new();
    (0..options.len()).find(|entry| !place(*entry, options, &mut taken, &mut BTreeSet::new()))
}

/// Gives an entry a record; one that has it takes another one, if that is possible.
fn place(
    entry: usize,
    options: &[Vec<usize>],
    taken: &mut BTreeMap<usize, usize>,
    seen: &mut BTreeSet<usize>,
) -> bool {
    options[entry].iter().any(|record| {
        let is_free = seen.insert(*record)
            && taken.get(record).copied().is_none_or(|other| place(other, options, taken, seen));
        if is_free {
            taken.insert(*record, entry);
        }
        is_free
    })
}
