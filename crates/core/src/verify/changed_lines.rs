//! How many lines of a file differ from its content before a step, from the diffs of the step's calls.

use similar::{ChangeTag, TextDiff};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Lines that a step added to a file, and lines that it removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ChangedLines {
    pub(super) added: u64,
    pub(super) removed: u64,
}

/// A line of the file as a diff leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'d> {
    /// The line with this number, from 0, of the content before the step.
    Original(usize),
    Added(&'d str),
}

/// The file as far as the diffs describe it. Lines behind the last one are original.
#[derive(Default)]
struct Lines<'d> {
    lines: Vec<Line<'d>>,
    /// Number of original lines in `lines` or removed.
    taken: usize,
    removed: BTreeMap<usize, &'d str>,
}

impl ChangedLines {
    /// The difference of the contents before the first and after the last of these diffs; `None` if a
    /// diff is not complete.
    pub(super) fn of<'d>(diffs: impl IntoIterator<Item = &'d str>) -> Option<ChangedLines> {
        Some(FileLines::of(diffs)?.file.difference())
    }
}

/// How far from a changed line a stated line may be: as the context of a diff.
const CLOSE: u64 = 3;

/// The lines of a file after a step, and which of them the step changed. Lines have numbers from 1.
pub(super) struct FileLines<'d> {
    file: Lines<'d>,
    /// Lines that were added, and those before which lines were removed.
    changed: Vec<u64>,
}

impl<'d> FileLines<'d> {
    /// The lines as these diffs leave them; `None` if a diff is not complete.
    pub(super) fn of(diffs: impl IntoIterator<Item = &'d str>) -> Option<FileLines<'d>> {
        let mut file = Lines::default();
        for diff in diffs {
            for hunk in hunks(diff)?.iter().rev() {
                file.apply(hunk)?;
            }
        }
        Some(FileLines { changed: file.changed(), file })
    }

    /// Whether lines changed at both ends of a range, or close to them.
    pub(super) fn has_changed_ends(&self, numbers: RangeInclusive<u64>) -> bool {
        let (first, last) = numbers.into_inner();
        let is_close = |end: u64| self.changed.iter().any(|number| number.abs_diff(end) <= CLOSE);
        first <= last && is_close(first) && is_close(last)
    }

    /// Whether a line in a range was added, or one between two lines of the range was removed.
    pub(super) fn changes_within(&self, numbers: RangeInclusive<u64>) -> bool {
        let mut own = self.changed.iter().filter(|number| numbers.contains(number));
        own.any(|number| number > numbers.start() || self.is_added(*number))
    }

    /// Whether a line was added.
    pub(super) fn is_added(&self, number: u64) -> bool {
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        at.and_then(|at| self.file.lines.get(at)).is_some_and(|line| matches!(line, Line::Added(_)))
    }

    /// The added lines.
    pub(super) fn added(&self) -> impl Iterator<Item = &'d str> {
        self.file.lines.iter().filter_map(|line| match line {
            Line::Added(text) => Some(*text),
            Line::Original(_) => None,
        })
    }

    /// The removed lines of the content before the step.
    pub(super) fn removed(&self) -> impl Iterator<Item = &'d str> {
        self.file.removed.values().copied()
    }
}

/// A hunk: its first line in the earlier content, from 0, and its lines with their marks.
struct Hunk<'d> {
    start: usize,
    lines: Vec<(char, &'d str)>,
}

fn hunks(diff: &str) -> Option<Vec<Hunk<'_>>> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    for line in diff.split('\n') {
        if let Some(header) = line.strip_prefix("@@ -") {
            let range = header.split(' ').next()?;
            let (start, count) = range.split_once(',').unwrap_or((range, "1"));
            let start: usize = start.parse().ok()?;
            // An empty range names the line before it.
            let start = if count == "0" { start } else { start.checked_sub(1)? };
            hunks.push(Hunk { start, lines: Vec::new() });
            continue;
        }
        match line.chars().next() {
            None => {}
            Some('\\') if line.contains("more lines of this diff") => return None,
            Some('\\') => {}
            Some(mark @ (' ' | '-' | '+')) => hunks.last_mut()?.lines.push((mark, &line[1..])),
            Some(_) => return None,
        }
    }
    Some(hunks)
}

impl<'d> Lines<'d> {
    fn apply(&mut self, hunk: &Hunk<'d>) -> Option<()> {
        let mut at = hunk.start;
        for (mark, text) in &hunk.lines {
            if *mark == '+' {
                self.fill(at);
                self.lines.insert(at, Line::Added(text));
                at += 1;
                continue;
            }
            self.fill(at + 1);
            if *mark == ' ' {
                at += 1;
            } else if let Line::Original(number) = self.lines.remove(at) {
                self.removed.insert(number, text);
            }
        }
        Some(())
    }

    /// Takes original lines until there are so many lines.
    fn fill(&mut self, lines: usize) {
        while self.lines.len() < lines {
            self.lines.push(Line::Original(self.taken));
            self.taken += 1;
        }
    }

    /// The numbers, from 1, of lines that were added, and of those before which lines were removed.
    fn changed(&self) -> Vec<u64> {
        let mut found = Vec::new();
        let mut next = 0;
        let mut after_added = false;
        let ends = self.lines.iter().copied().chain([Line::Original(self.taken)]);
        for (number, line) in (1..).zip(ends) {
            match line {
                Line::Added(_) => found.push(number),
                Line::Original(own) => {
                    // An added line stands in the place of a removed one.
                    if !after_added && self.removed.range(next..own).next().is_some() {
                        found.push(number);
                    }
                    next = own + 1;
                }
            }
            after_added = matches!(line, Line::Added(_));
        }
        found
    }

    /// Compares the removed and the added lines between lines that are still there.
    fn difference(&self) -> ChangedLines {
        let mut sum = ChangedLines::default();
        let mut added: Vec<&str> = Vec::new();
        let mut next = 0;
        let ends = self.lines.iter().copied().chain([Line::Original(self.taken)]);
        for line in ends {
            match line {
                Line::Added(text) => added.push(text),
                Line::Original(number) => {
                    let removed: Vec<&str> =
                        self.removed.range(next..number).map(|(_, text)| *text).collect();
                    sum.add(&removed, &added);
                    added.clear();
                    next = number + 1;
                }
            }
        }
        sum
    }
}

impl ChangedLines {
    fn add(&mut self, removed: &[&str], added: &[&str]) {
        if removed.is_empty() || added.is_empty() {
            self.removed += removed.len() as u64;
            self.added += added.len() as u64;
            return;
        }
        for change in TextDiff::from_slices(removed, added).iter_all_changes() {
            match change.tag() {
                ChangeTag::Equal => {}
                ChangeTag::Delete => self.removed += 1,
                ChangeTag::Insert => self.added += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A diff of one hunk with all lines, so that no position depends on the library.
    fn diff(before: &str, after: &str) -> String {
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let new: Vec<&str> = after.split_inclusive('\n').collect();
        let start = |lines: &[&str]| usize::from(!lines.is_empty());
        let (from, to) = (start(&old), start(&new));
        let mut text = format!("@@ -{from},{} +{to},{} @@\n", old.len(), new.len());
        for change in TextDiff::from_slices(&old, &new).iter_all_changes() {
            text += &format!("{}{}", change.tag(), change.value());
        }
        text
    }

    #[test]
    fn the_diffs_of_several_edits_give_the_difference_of_first_and_last_content() {
        let mut seed = 11u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for round in 0..300 {
            let words = [2, 5, 1_000][round % 3];
            let first: Vec<u64> = (0..random(40)).map(|_| random(words)).collect();
            let mut versions = vec![first];
            for _ in 0..1 + random(5) {
                let mut lines = versions.last().unwrap().clone();
                for _ in 0..random(6) {
                    let at = random(lines.len() as u64 + 1) as usize;
                    match random(2) {
                        0 if at < lines.len() => drop(lines.remove(at)),
                        _ => lines.insert(at, random(words)),
                    }
                }
                versions.push(lines);
            }
            let text = |lines: &Vec<u64>| -> String {
                lines.iter().map(|line| format!("{line}\n")).collect()
            };
            let texts: Vec<String> = versions.iter().map(text).collect();
            let diffs: Vec<String> =
                texts.windows(2).map(|pair| diff(&pair[0], &pair[1])).collect();
            let found = ChangedLines::of(diffs.iter().map(String::as_str)).unwrap();
            let (before, after) = (&texts[0], texts.last().unwrap());
            let balance = after.lines().count() as i64 - before.lines().count() as i64;
            assert_eq!(found.added as i64 - found.removed as i64, balance, "{round}");
            // The shortest difference cannot be larger than the one that the edits describe.
            let whole = ChangedLines::of([diff(before, after).as_str()]).unwrap();
            assert!(found.added >= whole.added, "{round}: {found:?} {whole:?}");
            let steps: u64 = diffs
                .iter()
                .map(|diff| ChangedLines::of([diff.as_str()]).unwrap())
                .map(|lines| lines.added + lines.removed)
                .sum();
            assert!(found.added + found.removed <= steps, "{round}");
        }
    }

    #[test]
    fn a_stated_line_is_close_to_a_changed_one() {
        let before: String = (1..=40).map(|n| format!("{n}\n")).collect();
        let after = before.replace("\n20\n", "\ntwenty\n").replace("\n30\n", "\n");
        let diff = diff(&before, &after);
        for (first, last, expected) in [
            (20, 20, true),
            (17, 17, true),
            (16, 16, false),
            (23, 23, true),
            (24, 24, false),
            (30, 30, true),
            (35, 40, false),
            (1, 40, false),
            (19, 33, true),
            (40, 1, false),
        ] {
            let lines = FileLines::of([diff.as_str()]).unwrap();
            assert_eq!(lines.has_changed_ends(first..=last), expected, "{first}-{last}");
        }
    }

    #[test]
    fn an_edit_that_is_undone_counts_nothing_and_a_cut_diff_is_not_known() {
        let (a, b) = ("1\n2\n3\n", "1\nx\n3\n");
        let none = ChangedLines::default();
        assert_eq!(ChangedLines::of([diff(a, b).as_str(), &diff(b, a)]), Some(none));
        let one = ChangedLines { added: 1, removed: 1 };
        assert_eq!(ChangedLines::of([diff(a, b).as_str()]), Some(one));
        let cut = "@@ -1 +1 @@\n-1\n\\ 3 more lines of this diff were not recorded\n";
        assert_eq!(ChangedLines::of([cut]), None);
    }
}
