//! Texts of a sentence about a change that stand for what was there before, or for what is there now: by the words before
//! them, by an arrow, or because the difference only removed them.

use super::changed_lines::FileLines;
use super::statement::is_quoted_path;
use super::support::Record;

/// Words before a text that was replaced.
const FROM: [&str; 8] = ["from", "von", "vom", "aus", "из", "с", "со", "от"];
/// Words before a text that took its place.
const TO: [&str; 6] = ["to", "into", "zu", "auf", "на", "в"];
/// What leads from the one to the other.
const ARROWS: [&str; 5] = ["→", "->", "=>", "⇒", "⟶"];

/// A text in backticks with the prose before and after it.
struct Quoted<'t> {
    before: &'t str,
    text: &'t str,
    after: &'t str,
}

impl Quoted<'_> {
    fn follows(&self, words: &[&str]) -> bool {
        let last = self.before.split_whitespace().next_back().unwrap_or_default();
        words.contains(&last.to_lowercase().as_str())
    }

    /// Whether the sentence says that this text was there before.
    fn is_old(&self) -> bool {
        let after = self.after.trim_start();
        self.follows(&FROM)
            || ARROWS.iter().any(|arrow| after.starts_with(arrow))
            || TO.contains(&after.to_lowercase().trim_end())
    }

    /// Whether the sentence says that this text is there now.
    fn is_new(&self) -> bool {
        let before = self.before.trim_end();
        self.follows(&TO) || ARROWS.iter().any(|arrow| before.ends_with(arrow))
    }
}

impl Record<'_> {
    /// Whether the difference has the texts of a sentence about a change on the sides where the sentence has them: what was
    /// there before in removed lines, what is there now in added ones. A text that only removed lines have must be one that
    /// the sentence calls replaced, or that it has the new text for. What was added to something has no such sides.
    pub(super) fn has_sides(&self, sentence: &str, paths: &[&str], adds: bool) -> bool {
        let parts: Vec<&str> = sentence.split('`').collect();
        let quoted = (1..parts.len().saturating_sub(1)).step_by(2);
        let quoted = quoted.filter(|at| !is_quoted_path(parts[*at])).map(|at| Quoted {
            before: parts[at - 1],
            text: parts[at],
            after: parts[at + 1],
        });
        let quoted: Vec<Quoted<'_>> = quoted.collect();
        quoted.iter().all(|own| {
            // A text within another one that the sentence has is not there by itself.
            let longer: Vec<&str> = quoted
                .iter()
                .map(|other| other.text)
                .filter(|other| other.len() > own.text.len() && other.contains(own.text))
                .collect();
            let (removed, added) = self.occurrences(own.text, &longer, paths);
            match () {
                () if adds => added >= removed,
                () if own.is_new() => added > removed,
                () if own.is_old() => removed > added,
                () => removed == 0 || added > 0 || quoted.iter().any(Quoted::is_new),
            }
        })
    }

    /// How many removed and added lines of these files, or of all changed ones, have a text, as far as the differences are
    /// complete.
    fn occurrences(&self, text: &str, without: &[&str], paths: &[&str]) -> (usize, usize) {
        let is_about =
            |own: &&str| paths.is_empty() || paths.iter().any(|path| self.is_same(own, path));
        let has = |line: &&str| {
            let line = without.iter().fold((*line).to_owned(), |line, part| line.replace(part, ""));
            line.contains(text)
        };
        let mut sum = (0, 0);
        for path in self.changes.changed().filter(is_about) {
            let Some(lines) = self.changes.history(path).diffs().and_then(FileLines::of) else {
                continue;
            };
            sum.0 += lines.removed().filter(has).count();
            sum.1 += lines.added().filter(has).count();
        }
        sum
    }
}
