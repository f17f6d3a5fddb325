//! The text of a change: unified-diff hunks as they are recorded in [`Change::diff`].

use kb_clock as clock;
use kb_core::evidence::{Change, FileState};
use similar::udiff::UnifiedDiffHunk;
use similar::{DiffOp, TextDiff, group_diff_ops};
use std::fmt::Write as _;
use std::time::Duration;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// Bytes of hunks that are kept for one change.
const DIFF_BYTES: usize = 16 << 10;
/// Time limit of the search for the shortest diff; after it the rest is recorded as replaced.
const SEARCH_TIME: Duration = Duration::from_millis(200);

/// Adds the diff of two texts to a change. `None` means that a text is unknown; for a file that did
/// not exist it means the empty text. A text with a NUL character is binary and has no diff.
pub(super) fn with_diff(mut change: Change, before: Option<&str>, after: Option<&str>) -> Change {
    let before = text_of(&change.before, before);
    let after = text_of(&change.after, after);
    let diff = before.zip(after).map(|(before, after)| hunks(before, after, DIFF_BYTES));
    change.diff = diff.filter(|diff| !diff.is_empty());
    change
}

fn text_of<'t>(state: &Option<FileState>, text: Option<&'t str>) -> Option<&'t str> {
    text.filter(|text| !text.contains('\0')).or_else(|| state.is_none().then_some(""))
}

/// The hunks of a unified diff of two texts; empty if they are equal, and bounded if they are not.
pub fn unified_diff(before: &str, after: &str) -> String {
    hunks(before, after, DIFF_BYTES)
}

/// The hunks of `diff -u` without the file header; empty if the texts are equal. The result has at
/// most about `limit` bytes and ends with the number of omitted lines.
fn hunks(before: &str, after: &str, limit: usize) -> String {
    let (old, new) = (lines(before), lines(after));
    let mut out = String::new();
    let mut omitted = 0;
    let mut config = TextDiff::configure();
    config.newline_terminated(true).deadline(clock::instant() + SEARCH_TIME);
    let diff = config.diff_slices(&old, &new);
    for ops in group_diff_ops(positioned(diff.ops()), CONTEXT) {
        for line in UnifiedDiffHunk::new(ops, &diff, true).to_string().split_inclusive('\n') {
            if omitted > 0 || out.len() + line.len() > limit {
                omitted += 1;
            } else {
                out.push_str(line);
            }
        }
    }
    if omitted > 0 {
        let _ = writeln!(out, "\\ {omitted} more lines of this diff were not recorded");
    }
    out
}

/// The operations with the positions that follow from their lengths. `similar` moves insertions and
/// deletions past equal lines and leaves the position in the other text as it was.
fn positioned(ops: &[DiffOp]) -> Vec<DiffOp> {
    let (mut old_index, mut new_index) = (0, 0);
    let position = |op: &DiffOp| {
        let (old_len, new_len) = (op.old_range().len(), op.new_range().len());
        let op = match *op {
            DiffOp::Equal { len, .. } => DiffOp::Equal { old_index, new_index, len },
            DiffOp::Delete { .. } => DiffOp::Delete { old_index, old_len, new_index },
            DiffOp::Insert { .. } => DiffOp::Insert { old_index, new_index, new_len },
            DiffOp::Replace { .. } => DiffOp::Replace { old_index, old_len, new_index, new_len },
        };
        (old_index, new_index) = (old_index + old_len, new_index + new_len);
        op
    };
    ops.iter()
        .map(position)
        .filter(|op| !op.old_range().is_empty() || !op.new_range().is_empty())
        .collect()
}

/// Lines with their line ends; a lone carriage return ends no line.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str, expected: &str) {
        assert_eq!(hunks(before, after, 1 << 20), expected);
    }

    #[test]
    fn writes_the_hunks_of_a_unified_diff() {
        check("a\n", "a\n", "");
        check("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n");
        check("a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n");
        check("a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
        check("a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
        let long: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let (one, two) = (long.replace("2\n3\n", "2\nx\n3\n"), long.replace("18\n", ""));
        check(&long, &one, "@@ -1,5 +1,6 @@\n 1\n 2\n+x\n 3\n 4\n 5\n");
        check(&long, &two, "@@ -15,6 +15,5 @@\n 15\n 16\n 17\n-18\n 19\n 20\n");
        let both = hunks(&one, &two, 1 << 20);
        assert_eq!(both.matches("@@ -").count(), 2, "{both}");
    }

    /// Applies hunks to a text, as `patch` does without searching: the positions and counts of the
    /// headers, the unchanged and the removed lines must be those of the text.
    fn apply(before: &str, diff: &str) -> Option<String> {
        let old = lines(before);
        let (mut out, mut next, mut left) = (String::new(), 0, (0, 0));
        for line in lines(diff) {
            if let Some(header) = line.strip_prefix("@@ -") {
                let (from, rest) = header.split_once(" +")?;
                let [(start, count), (first, added)] =
                    [from, rest.split(' ').next()?].map(|range| {
                        let (start, count) = range.split_once(',').unwrap_or((range, "1"));
                        let [start, count] = [start, count].map(|n| n.parse::<usize>().unwrap());
                        (start - usize::from(count != 0), count)
                    });
                out.extend(old.get(next..start)?.iter().copied());
                if left != (0, 0) || lines(&out).len() != first {
                    return None;
                }
                (next, left) = (start, (count, added));
                continue;
            }
            let (mark, text) = line.split_at(1);
            if mark != "+" {
                (*old.get(next)? == text).then_some(())?;
                (next, left.0) = (next + 1, left.0.checked_sub(1)?);
            }
            if mark != "-" {
                out.push_str(text);
                left.1 = left.1.checked_sub(1)?;
            }
        }
        out.extend(old[next..].iter().copied());
        (left == (0, 0)).then_some(out)
    }

    #[test]
    fn applying_the_hunks_of_any_short_texts_gives_the_second_text() {
        let text = |bits: usize, count| -> String {
            (0..count).map(|n| if bits >> n & 1 == 0 { "a\n" } else { "b\n" }).collect()
        };
        let texts: Vec<String> =
            (0..=7).flat_map(|count| (0..1 << count).map(move |bits| text(bits, count))).collect();
        for (before, after) in texts.iter().flat_map(|a| texts.iter().map(move |b| (a, b))) {
            let diff = hunks(before, after, 1 << 20);
            assert_eq!(apply(before, &diff).as_ref(), Some(after), "{before}{diff}");
        }
    }

    #[test]
    fn applying_the_hunks_gives_the_second_text() {
        let mut seed = 7u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for n in 0..2_000 {
            let of = 2 + n % 5;
            let mut text = |n| -> String { (0..n).map(|_| format!("{}\n", random(of))).collect() };
            let (before, after) = (text(30), text(30));
            let diff = hunks(&before, &after, 1 << 20);
            assert_eq!(apply(&before, &diff), Some(after), "{before}{diff}");
        }
    }

    #[test]
    fn a_large_diff_is_cut_and_names_the_number_of_omitted_lines() {
        let many = |word: &str| -> String { (0..5_000).map(|n| format!("{word}{n}\n")).collect() };
        let diff = hunks(&many("a"), &many("b"), 1_000);
        assert!(diff.len() < 1_100, "{}", diff.len());
        assert!(diff.ends_with("more lines of this diff were not recorded\n"), "{diff}");
    }
}
