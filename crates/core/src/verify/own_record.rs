//! Whether each entry of a list has a record of its own.

use std::collections::{BTreeMap, BTreeSet};

/// The first entry for which no record is left. `options`: the records that fit an entry; an entry that none fits is left out.
pub(super) fn without_own<E>(entries: &[E], options: impl Fn(&E) -> Vec<usize>) -> Option<&E> {
    let fitting = entries.iter().map(|entry| (entry, options(entry)));
    let (entries, options): (Vec<_>, Vec<_>) =
        fitting.filter(|(_, options)| !options.is_empty()).unzip();
    let mut taken = BTreeMap::new();
    let is_without = |entry: &usize| !place(*entry, &options, &mut taken, &mut BTreeSet::new());
    (0..options.len()).find(is_without).map(|entry| entries[entry])
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
