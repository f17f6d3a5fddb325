//! The ledger in which the work of a run notes its starts and ends, outside of `kb`.

use std::path::Path;

/// One line of the ledger: work that began, or ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) starts: bool,
    /// Who did it: a process id, or a number that stands for one.
    pub(super) who: String,
    /// The `KB_IDEMPOTENCY_KEY`: run/instance/iteration.
    pub(super) key: String,
    /// The `KB_ATTEMPT`.
    pub(super) attempt: u32,
    /// What was done, where one attempt does several things.
    pub(super) tag: String,
}

impl Line {
    /// The same work: what one attempt does once.
    pub(super) fn work(&self) -> (&str, u32, &str) {
        (&self.key, self.attempt, &self.tag)
    }
}

/// What was written so far. A line that does not parse is a defect of whoever wrote it.
pub(super) fn read(path: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| parse(line).unwrap_or_else(|| panic!("`{line}` in the ledger")))
        .collect()
}

fn parse(line: &str) -> Option<Line> {
    let [kind, who, key, attempt, tag] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let starts = match kind {
        "S" => true,
        "E" => false,
        _ => return None,
    };
    let attempt = attempt.parse().ok()?;
    // Keys of items are written as in a URL.
    let key = percent_encoding::percent_decode_str(key).decode_utf8().ok()?.into_owned();
    Some(Line { starts, who: who.to_owned(), key, attempt, tag: tag.to_owned() })
}
