//! What changed in a text, line by line, as `diff -u` writes it.

use std::fmt::Write;
use std::ops::Range;

/// Lines of what did not change around what did.
const CONTEXT: usize = 3;
/// Differences beyond which the shortest way is no longer looked for.
const MAX_EDITS: usize = 400;

/// The hunks that make the second text of the first; empty where they are the same. At most about
/// `limit` bytes, and says how many lines are missing then.
pub(super) fn text_diff(before: &str, after: &str, limit: usize) -> String {
    let (old, new) = (lines(before), lines(after));
    let mut out = String::new();
    let mut missing = 0;
    for hunk in hunks(&changed(&old, &new), old.len(), new.len()) {
        let text = hunk.text(&old, &new);
        if out.len() + text.len() > limit {
            let room = limit.saturating_sub(out.len());
            let mut taken = 0;
            for line in text.split_inclusive('\n') {
                taken += line.len();
                if missing > 0 || taken > room {
                    missing += 1;
                } else {
                    out.push_str(line);
                }
            }
        } else {
            out.push_str(&text);
        }
    }
    if missing > 0 {
        let _ = writeln!(out, "\\ {missing} more lines of this difference are not kept");
    }
    out
}

/// Lines with their ends.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// A piece of the old text that another piece of the new one replaces; one of them may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Edit {
    old: Range<usize>,
    new: Range<usize>,
}

/// What differs, in order.
fn changed(old: &[&str], new: &[&str]) -> Vec<Edit> {
    let same_start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[same_start..], &new[same_start..]);
    let same_end =
        old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let old_rest = &old_rest[..old_rest.len() - same_end];
    let new_rest = &new_rest[..new_rest.len() - same_end];
    if old_rest.is_empty() && new_rest.is_empty() {
        return Vec::new();
    }
    let kept = common(old_rest, new_rest).unwrap_or_default();
    let mut edits = Vec::new();
    let (mut at_old, mut at_new) = (0, 0);
    let end = (old_rest.len(), new_rest.len());
    for (next_old, next_new) in kept.into_iter().chain([end]) {
        if (at_old, at_new) != (next_old, next_new) {
            edits.push(Edit {
                old: same_start + at_old..same_start + next_old,
                new: same_start + at_new..same_start + next_new,
            });
        }
        (at_old, at_new) = (next_old + 1, next_new + 1);
    }
    edits
}

/// The lines that both have, as pairs of their places, by the shortest way from one to the other
/// (Myers); `None` where that is too long to be looked for.
fn common(old: &[&str], new: &[&str]) -> Option<Vec<(usize, usize)>> {
    let (n, m) = (old.len() as isize, new.len() as isize);
    let most = (old.len() + new.len()).min(MAX_EDITS);
    let at = |k: isize| (k + most as isize + 1) as usize;
    let mut reach = vec![0isize; 2 * most + 3];
    let mut steps: Vec<Vec<isize>> = Vec::new();
    for d in 0..=most as isize {
        steps.push(reach.clone());
        for k in (-d..=d).step_by(2) {
            let down = k == -d || (k != d && reach[at(k - 1)] < reach[at(k + 1)]);
            let mut x = if down { reach[at(k + 1)] } else { reach[at(k - 1)] + 1 };
            while x < n && x - k < m && old[x as usize] == new[(x - k) as usize] {
                x += 1;
            }
            reach[at(k)] = x;
            if x >= n && x - k >= m {
                return Some(back(&steps, at, (n, m)));
            }
        }
    }
    None
}

/// The pairs of equal lines along the way that was found, from its end back.
fn back(
    steps: &[Vec<isize>],
    at: impl Fn(isize) -> usize,
    (mut x, mut y): (isize, isize),
) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for d in (0..steps.len() as isize).rev() {
        let (reach, k) = (&steps[d as usize], x - y);
        let down = k == -d || (k != d && reach[at(k - 1)] < reach[at(k + 1)]);
        let from = if down { k + 1 } else { k - 1 };
        let (from_x, from_y) = match d {
            0 => (0, 0),
            _ => (reach[at(from)], reach[at(from)] - from),
        };
        while x > from_x && y > from_y {
            (x, y) = (x - 1, y - 1);
            pairs.push((x as usize, y as usize));
        }
        (x, y) = (from_x, from_y);
    }
    pairs.reverse();
    pairs
}

/// Edits that are told together, because little lies between them.
struct Hunk {
    edits: Vec<Edit>,
    old: Range<usize>,
    new: Range<usize>,
}

fn hunks(edits: &[Edit], old: usize, new: usize) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for edit in edits {
        let near = |hunk: &&mut Hunk| edit.old.start <= hunk.old.end + CONTEXT;
        let end =
            |edit: &Edit| ((edit.old.end + CONTEXT).min(old), (edit.new.end + CONTEXT).min(new));
        let (old_end, new_end) = end(edit);
        match hunks.last_mut().filter(near) {
            Some(hunk) => {
                hunk.edits.push(edit.clone());
                (hunk.old.end, hunk.new.end) = (old_end, new_end);
            }
            None => hunks.push(Hunk {
                old: edit.old.start.saturating_sub(CONTEXT)..old_end,
                new: edit.new.start.saturating_sub(CONTEXT)..new_end,
                edits: vec![edit.clone()],
            }),
        }
    }
    hunks
}

impl Hunk {
    fn text(&self, old: &[&str], new: &[&str]) -> String {
        let place = |range: &Range<usize>| match range.len() {
            0 => format!("{},0", range.start),
            1 => (range.start + 1).to_string(),
            n => format!("{},{n}", range.start + 1),
        };
        let mut out = format!("@@ -{} +{} @@\n", place(&self.old), place(&self.new));
        let mut say = |sign: char, lines: &[&str]| {
            for line in lines {
                out.push(sign);
                out.push_str(line);
                if !line.ends_with('\n') {
                    out.push_str("\n\\ No newline at end of file\n");
                }
            }
        };
        let mut from = self.old.start;
        for edit in &self.edits {
            say(' ', &old[from..edit.old.start]);
            say('-', &old[edit.old.clone()]);
            say('+', &new[edit.new.clone()]);
            from = edit.old.end;
        }
        say(' ', &old[from..self.old.end]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str, expected: &str) {
        assert_eq!(text_diff(before, after, 1 << 20), expected);
    }

    #[test]
    fn says_what_diff_says() {
        check("a\n", "a\n", "");
        check("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n");
        check("a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n");
        check("a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
        check("a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
        let long: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let (one, two) = (long.replace("2\n3\n", "2\nx\n3\n"), long.replace("18\n", ""));
        check(&long, &one, "@@ -1,5 +1,6 @@\n 1\n 2\n+x\n 3\n 4\n 5\n");
        check(&long, &two, "@@ -15,6 +15,5 @@\n 15\n 16\n 17\n-18\n 19\n 20\n");
        let both = text_diff(&one, &two, 1 << 20);
        assert_eq!(both.matches("@@ -").count(), 2, "{both}");
    }

    /// Applying the hunks to the first text gives the second one, whatever the two are.
    #[test]
    fn hunks_make_the_second_text_of_the_first() {
        let mut seed = 7u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..500 {
            let mut text = |n| -> String { (0..n).map(|_| format!("{}\n", next(6))).collect() };
            let (before, after) = (text(30), text(30));
            let (old, new) = (lines(&before), lines(&after));
            let mut made: Vec<&str> = Vec::new();
            let mut from = 0;
            for edit in changed(&old, &new) {
                made.extend(&old[from..edit.old.start]);
                made.extend(&new[edit.new.clone()]);
                from = edit.old.end;
            }
            made.extend(&old[from..]);
            assert_eq!(made, new);
        }
    }

    #[test]
    fn a_large_difference_is_bounded_and_says_so() {
        let many = |word: &str| -> String { (0..5_000).map(|n| format!("{word}{n}\n")).collect() };
        let diff = text_diff(&many("a"), &many("b"), 1_000);
        assert!(diff.len() < 1_100, "{}", diff.len());
        assert!(diff.ends_with("more lines of this difference are not kept\n"), "{diff}");
    }
}
