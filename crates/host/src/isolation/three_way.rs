//! Merges two versions of a text that have a common origin, line by line.

use similar::algorithms::{Capture, diff_slices};
use similar::{Algorithm, DiffOp};
use std::ops::Range;

/// A replaced range of lines of the common origin.
struct Hunk<'t> {
    base: Range<usize>,
    lines: &'t [&'t str],
}

impl Hunk<'_> {
    /// Whether it touches a range. Neighbouring lines count, as in `git`.
    fn touches(&self, range: &Range<usize>) -> bool {
        self.base.start <= range.end && range.start <= self.base.end
    }
}

/// The text with the changes of both sides; `None` if they changed the same or neighbouring lines in
/// different ways. Merging the result with `theirs` again gives the result, so that an interrupted merge
/// can be repeated. A merge for which that does not hold, because equal lines leave it open which of them
/// was inserted, is a conflict.
pub(super) fn merge(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let merged = merge_once(base, ours, theirs)?;
    (merge_once(base, &merged, theirs)? == merged).then_some(merged)
}

fn merge_once(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let [base, ours, theirs] =
        [base, ours, theirs].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let (mine, other) = (hunks(&base, &ours)?, hunks(&base, &theirs)?);
    let (mut mine, mut other) = (mine.as_slice(), other.as_slice());
    let (mut merged, mut at) = (String::new(), 0);
    loop {
        let next = [mine.first(), other.first()].into_iter().flatten();
        let Some(start) = next.map(|hunk| hunk.base.start).min() else { break };
        let mut region = start..start;
        let (mut from_mine, mut from_other) = (0, 0);
        loop {
            let before = (from_mine, from_other);
            for (side, taken) in [(mine, &mut from_mine), (other, &mut from_other)] {
                while let Some(hunk) = side.get(*taken).filter(|hunk| hunk.touches(&region)) {
                    region = region.start..region.end.max(hunk.base.end);
                    *taken += 1;
                }
            }
            if before == (from_mine, from_other) {
                break;
            }
        }
        let (ours, theirs) = (&mine[..from_mine], &other[..from_other]);
        merged.extend(base[at..region.start].iter().copied());
        let (ours_text, theirs_text) = (text(&base, &region, ours), text(&base, &region, theirs));
        match (ours.is_empty(), theirs.is_empty()) {
            (false, false) if ours_text != theirs_text => return None,
            (false, _) => merged.push_str(&ours_text),
            (true, _) => merged.push_str(&theirs_text),
        }
        (mine, other) = (&mine[from_mine..], &other[from_other..]);
        at = region.end;
    }
    merged.extend(base[at..].iter().copied());
    Some(merged)
}

/// The changes of a side. Not `capture_diff_slices`: it moves insertions without their positions.
fn hunks<'t>(base: &[&str], side: &'t [&'t str]) -> Option<Vec<Hunk<'t>>> {
    let mut capture = Capture::new();
    diff_slices(Algorithm::Myers, &mut capture, base, side).ok()?;
    let ops = capture.into_ops().into_iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    let hunks: Vec<_> =
        ops.map(|op| Hunk { base: op.old_range(), lines: &side[op.new_range()] }).collect();
    // A text that its changes do not give again must not be merged by them.
    (text(base, &(0..base.len()), &hunks) == side.concat()).then_some(hunks)
}

/// The lines of a region with the changes of one side.
fn text(base: &[&str], region: &Range<usize>, hunks: &[Hunk<'_>]) -> String {
    let (mut text, mut at) = (String::new(), region.start);
    for hunk in hunks {
        text.extend(base[at..hunk.base.start].iter().copied());
        text.extend(hunk.lines.iter().copied());
        at = hunk.base.end;
    }
    text.extend(base[at..region.end].iter().copied());
    text
}

#[cfg(test)]
mod tests {
    use super::merge;
    use proptest::prelude::*;

    #[test]
    fn changes_of_different_lines_are_combined() {
        let base = "a\nb\nc\nd\ne\n";
        assert_eq!(merge(base, "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n").unwrap(), "A\nb\nc\nd\nE\n");
        assert_eq!(merge(base, base, "a\nc\nd\ne\nf\n").unwrap(), "a\nc\nd\ne\nf\n");
        assert_eq!(merge(base, "x\n", "x\n").unwrap(), "x\n");
        assert_eq!(merge("", "x\n", "x\n").unwrap(), "x\n");
    }

    #[test]
    fn different_changes_of_the_same_or_neighbouring_lines_conflict() {
        let base = "a\nb\nc\nd\n";
        assert_eq!(merge(base, "a\nB\nc\nd\n", "a\n2\nc\nd\n"), None);
        assert_eq!(merge(base, "a\nB\nc\nd\n", "a\nb\nC\nd\n"), None);
        assert_eq!(merge(base, "a\nb\nc\nd\ne\n", "a\nb\nc\nd\nf\n"), None);
        assert_eq!(merge("", "x\n", "y\n"), None);
    }

    proptest! {
        #[test]
        fn a_repeated_merge_changes_nothing(
            base in "([a-e]\n){0,12}", ours in "([a-e]\n){0,12}", theirs in "([a-e]\n){0,12}"
        ) {
            prop_assert_eq!(merge(&base, &base, &theirs), Some(theirs.clone()));
            prop_assert_eq!(merge(&base, &ours, &base), Some(ours.clone()));
            if let Some(merged) = merge(&base, &ours, &theirs) {
                prop_assert_eq!(merge(&base, &merged, &theirs), Some(merged));
            }
        }
    }
}
