//! The log of a step by lines: what its processes and models wrote, in order.

use super::{InspectError, LogEntry, Reader};
use serde::Serialize;

/// One line of what a step wrote, for `kb run logs` and the page of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogLine<'a> {
    /// Its number, from 1.
    pub line: usize,
    /// `stdout`, `stderr` or `model`.
    pub channel: &'static str,
    /// The text without its end.
    pub text: &'a str,
}

/// The log of a step or item with the places of its lines.
#[derive(Debug, Clone, Default)]
pub struct StepLog {
    text: String,
    /// Where each line begins.
    starts: Vec<usize>,
    /// Number of the first line of each part, and the channel of the part.
    parts: Vec<(usize, &'static str)>,
}

impl StepLog {
    /// Reads the log of a step or item as far as it is stored. At most `most` bytes are kept; returns
    /// whether that was all.
    pub fn read(
        mut reader: Reader,
        step: &str,
        most: usize,
    ) -> Result<(StepLog, bool), InspectError> {
        let (mut log, mut is_whole) = (StepLog::default(), true);
        while let Some(entries) = reader.next_entries()? {
            for entry in entries {
                let LogEntry::Text { instance, step: own, channel, text, .. } = entry else {
                    continue;
                };
                if instance != step && own != step {
                    continue;
                }
                is_whole &= log.add(channel, &text, most);
            }
        }
        Ok((log, is_whole))
    }

    fn add(&mut self, channel: &'static str, text: &str, most: usize) -> bool {
        self.parts.push((self.starts.len(), channel));
        for line in text.lines() {
            if self.text.len() + line.len() + 1 > most {
                return false;
            }
            self.starts.push(self.text.len());
            self.text.push_str(line);
            self.text.push('\n');
        }
        true
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// At most `count` lines from a line on; the first has the number 1.
    pub fn lines(&self, from: usize, count: usize) -> impl Iterator<Item = LogLine<'_>> {
        let first = from.saturating_sub(1).min(self.len());
        let last = first.saturating_add(count).min(self.len());
        (first..last).map(|index| {
            let end = self.starts.get(index + 1).map_or(self.text.len(), |next| *next);
            let text = self.text[self.starts[index]..end].trim_end_matches(['\n', '\r']);
            let part = self.parts.partition_point(|(first, _)| *first <= index);
            let channel = self.parts[part.saturating_sub(1)].1;
            LogLine { line: index + 1, channel, text }
        })
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }
}
