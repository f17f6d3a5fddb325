//! The log of a step by lines: what its processes and models wrote, in order.

use super::{InspectError, LogEntry, Reader};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// One line of what a step wrote, for `kb run logs` and the page of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LogLine<'a> {
    /// Its number, from 1.
    pub line: usize,
    /// `stdout`, `stderr` or `model`.
    pub channel: &'static str,
    /// The text without its end.
    pub text: &'a str,
}

/// The attempts whose output a log has: all, without numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Number of the iteration, from 1.
    pub iteration: Option<u32>,
    /// Number of the attempt in its iteration, from 1.
    pub attempt: Option<u32>,
}

impl Attempts {
    /// Whether an attempt is one of them.
    pub fn include(self, iteration: u32, attempt: u32) -> bool {
        self.iteration.is_none_or(|number| number == iteration)
            && self.attempt.is_none_or(|number| number == attempt)
    }
}

/// The attempt of each step and item that its next entry of a log belongs to.
#[derive(Debug, Default)]
pub struct CurrentAttempts(BTreeMap<String, (u32, u32)>);

impl CurrentAttempts {
    /// Adds the next entry; returns the iteration and the attempt that it belongs to.
    pub fn of(&mut self, entry: &LogEntry) -> Option<(u32, u32)> {
        match entry {
            LogEntry::Event(event) => {
                let place = event.place.as_ref()?;
                let attempt = (place.iteration, place.attempt?);
                self.0.insert(place.instance.to_string(), attempt);
                Some(attempt)
            }
            LogEntry::Text { instance, .. } => self.0.get(instance).copied(),
        }
    }
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
    /// Reads the log of a step or item, or of some of its attempts, as far as it is stored. At most `most` bytes are kept; returns
    /// whether that was all.
    pub fn read(
        mut reader: Reader,
        step: &str,
        attempts: Attempts,
        most: usize,
    ) -> Result<(StepLog, bool), InspectError> {
        let mut current = CurrentAttempts::default();
        let (mut log, mut is_whole) = (StepLog::default(), true);
        while let Some(entries) = reader.next_entries()? {
            for entry in entries {
                let attempt = current.of(&entry);
                let LogEntry::Text { instance, step: own, channel, text, .. } = entry else {
                    continue;
                };
                if instance != step && own != step {
                    continue;
                }
                if !attempt.is_none_or(|(iteration, number)| attempts.include(iteration, number)) {
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
