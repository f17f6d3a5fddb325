//! The output of the processes of steps, as lines that name their step.
//!
//! Output is shown live while one step runs, else when its attempt has ended. The stored output is
//! the complete one: lines that were shown live are left out of it. Start at [`StepOutput`].

use super::item_groups::step_of;
use super::table::plain;
use crate::cli::terminal::{DIM, TITLE, paint};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Which output of steps is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(in crate::cli) enum OutputMode {
    /// Live while one step runs; else the last 20 lines of each stream when a step ends; none of items
    #[default]
    Auto,
    /// All output of all steps
    All,
    /// The last 20 lines of each stream of failed steps
    Failed,
    /// The step has no output to show.
    None,
}

/// Number of lines of a stream that are shown where the stream is shortened.
pub(super) const TAIL_LINES: usize = 20;
/// Number of characters of a line that are shown where output is shortened.
const LINE_CHARS: usize = 1000;
/// Maximum number of live lines per attempt that are remembered.
const REMEMBERED: usize = 100_000;

/// Decides which output is shown when.
#[derive(Debug)]
pub(super) struct StepOutput {
    mode: OutputMode,
    /// Step instances that run now.
    running: BTreeSet<String>,
    /// Digests of the lines of a running attempt that were shown live, with their number.
    live: BTreeMap<String, BTreeMap<u64, u32>>,
    /// Lines of a running attempt that were printed while other steps ran.
    held: BTreeMap<String, Held>,
    /// Stored output that is not shown yet: channel and text.
    stored: BTreeMap<String, Vec<(&'static str, String)>>,
}

/// Lines that are shown before the next one of their attempt is.
#[derive(Debug, Default)]
struct Held {
    digests: Vec<u64>,
    /// The last lines, as they are shown.
    last: VecDeque<String>,
}

impl StepOutput {
    pub(super) fn new(mode: OutputMode) -> StepOutput {
        let (running, live, held, stored) = Default::default();
        StepOutput { mode, running, live, held, stored }
    }

    /// An attempt of an instance started.
    pub(super) fn started(&mut self, instance: &str) {
        self.running.insert(instance.to_owned());
        self.live.remove(instance);
        self.held.remove(instance);
        self.stored.remove(instance);
    }

    /// A line that a process printed now. Returns it, after the lines before it that were not shown, if it is
    /// shown now; else nothing.
    pub(super) fn line(&mut self, instance: &str, text: &str) -> Vec<String> {
        let is_shown = match self.mode {
            OutputMode::Auto => step_of(instance).is_none(),
            OutputMode::All => true,
            OutputMode::Failed | OutputMode::None => false,
        };
        if !is_shown {
            return Vec::new();
        }
        let line = prefixed(instance, &self.shortened(text));
        let most = if self.mode == OutputMode::All { REMEMBERED } else { TAIL_LINES };
        let alone = self.running.len() == 1 && self.running.contains(instance);
        if !alone {
            let held = self.held.entry(instance.to_owned()).or_default();
            if held.digests.len() < REMEMBERED {
                held.digests.push(digest(text));
                held.last.push_back(line);
            }
            if held.last.len() > most {
                held.last.pop_front();
            }
            return Vec::new();
        }
        let held = self.held.remove(instance).unwrap_or_default();
        let shown = self.live.entry(instance.to_owned()).or_default();
        for digest in held.digests.iter().copied().chain([digest(text)]) {
            if shown.len() < REMEMBERED {
                *shown.entry(digest).or_default() += 1;
            }
        }
        let skipped = held.digests.len() - held.last.len();
        let note = (skipped > 0).then(|| earlier_lines(instance, skipped, "output"));
        note.into_iter().chain(held.last).chain([line]).collect()
    }

    /// The stored output of an attempt that is about to end.
    pub(super) fn stored(&mut self, instance: &str, channel: &'static str, text: &str) {
        if self.mode != OutputMode::None {
            let held = self.stored.entry(instance.to_owned()).or_default();
            match held.iter_mut().find(|(own, _)| *own == channel) {
                Some((_, all)) => all.push_str(text),
                None => held.push((channel, text.to_owned())),
            }
        }
    }

    /// An attempt ended: the lines that were not shown yet.
    pub(super) fn attempt_ended(&mut self, instance: &str) -> Vec<String> {
        match self.mode {
            // The items of a step are reported together.
            OutputMode::Auto if step_of(instance).is_some() => Vec::new(),
            OutputMode::Auto | OutputMode::All => self.take(instance),
            OutputMode::Failed | OutputMode::None => Vec::new(),
        }
    }

    /// A step instance ended: the lines that are shown only for failed steps.
    pub(super) fn ended(&mut self, instance: &str, failed: bool) -> Vec<String> {
        self.running.remove(instance);
        let is_shown = failed && (self.mode != OutputMode::Auto || step_of(instance).is_none());
        let lines = if is_shown { self.take(instance) } else { Vec::new() };
        self.held.remove(instance);
        self.stored.remove(instance);
        self.live.remove(instance);
        lines
    }

    fn take(&mut self, instance: &str) -> Vec<String> {
        self.held.remove(instance);
        let mut live = self.live.remove(instance).unwrap_or_default();
        let mut lines = Vec::new();
        for (channel, text) in self.stored.remove(instance).unwrap_or_default() {
            let new = |line: &&str| match live.get_mut(&digest(line)) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            };
            let all: Vec<&str> = text.lines().filter(new).collect();
            let skip = match self.mode {
                OutputMode::All => 0,
                _ => all.len().saturating_sub(TAIL_LINES),
            };
            if skip > 0 {
                lines.push(earlier_lines(instance, skip, channel));
            }
            let text = |line: &&str| prefixed(instance, &self.shortened(line));
            lines.extend(all[skip..].iter().map(text));
        }
        lines
    }

    fn shortened(&self, line: &str) -> String {
        let line = clean(line);
        match line.char_indices().nth(LINE_CHARS) {
            Some((at, _)) if self.mode != OutputMode::All => format!("{}…", &line[..at]),
            _ => line,
        }
    }
}

fn digest(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.trim_end().hash(&mut hasher);
    hasher.finish()
}

fn prefixed(instance: &str, text: &str) -> String {
    format!("{:>8}  {} {} {text}", "", paint(TITLE, &plain(instance)), paint(DIM, "|"))
}

/// The line in place of lines that are not shown.
fn earlier_lines(instance: &str, count: usize, channel: &str) -> String {
    let more = format!("… {count} earlier lines of {channel}: `kb run logs @last {instance}`");
    prefixed(instance, &paint(DIM, &plain(&more)))
}

/// A line of output without styles and without the parts that a carriage return overwrote.
pub(super) fn clean(line: &str) -> String {
    let last = line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or_default();
    let unstyled = anstream::adapter::strip_str(last).to_string().replace('\t', "    ");
    plain(&unstyled)
}

/// The last lines of a stream that are shown of a failed step, with the number of lines before them.
pub(super) fn tail(text: &str) -> (usize, Vec<String>) {
    let lines: Vec<&str> = text.lines().collect();
    let skip = lines.len().saturating_sub(TAIL_LINES);
    let short = |line: &&str| clean(line).chars().take(LINE_CHARS).collect();
    (skip, lines[skip..].iter().map(short).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unstyled(lines: Vec<String>) -> Vec<String> {
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    #[test]
    fn lines_that_were_shown_live_are_not_repeated() {
        let mut output = StepOutput::new(OutputMode::Auto);
        output.started("a");
        assert_eq!(output.line("a", "one").len(), 1);
        output.started("b");
        assert!(output.line("a", "two").is_empty(), "two steps run");
        output.stored("a", "stdout", "one\ntwo\n");
        let lines = unstyled(output.attempt_ended("a"));
        assert_eq!(lines, ["          a | two"]);
    }

    #[test]
    fn lines_keep_their_order_when_a_step_is_left_alone() {
        let mut output = StepOutput::new(OutputMode::Auto);
        output.started("a");
        output.started("b");
        (1..=25).for_each(|n| assert!(output.line("a", &n.to_string()).is_empty()));
        output.ended("b", false);
        let lines = unstyled(output.line("a", "26"));
        assert!(lines[0].contains("… 5 earlier lines of output"), "{lines:?}");
        let numbers: Vec<&str> = lines[1..].iter().filter_map(|l| l.split(" | ").last()).collect();
        assert_eq!(numbers, (6..=26).map(|n| n.to_string()).collect::<Vec<_>>());
        output.stored("a", "stdout", &(1..=26).map(|n| format!("{n}\n")).collect::<String>());
        assert!(output.attempt_ended("a").is_empty());
    }

    #[test]
    fn long_output_is_shortened_unless_all_is_asked_for() {
        let text: String = (1..=50).map(|n| format!("{n}\n")).collect();
        for (mode, count) in [(OutputMode::Auto, 21), (OutputMode::All, 50), (OutputMode::None, 0)]
        {
            let mut output = StepOutput::new(mode);
            output.started("a");
            output.stored("a", "stdout", &text);
            assert_eq!(output.attempt_ended("a").len(), count);
        }
        let mut failed = StepOutput::new(OutputMode::Failed);
        failed.started("a");
        failed.stored("a", "stdout", &text);
        assert!(failed.attempt_ended("a").is_empty());
        assert_eq!(failed.ended("a", true).len(), 21);
    }

    #[test]
    fn output_cannot_move_the_cursor() {
        assert_eq!(clean("10%\r50%\r\x1b[31mdone\x1b[0m\r"), "done");
    }
}
