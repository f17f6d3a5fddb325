//! Events as plain lines, for pipes, files and CI.

use super::event_clock::EventClock;
use super::item_groups::{ItemGroups, is_grouped, step_of};
use super::quantity::clock;
use super::renderer::BUFFER_BYTES;
use super::step_output::StepOutput;
use super::table::plain;
use super::{OutputMode, Renderer, line};
use crate::cli::terminal::Terminal;
use crate::cli::workflow_commands;
use kb_base::value::Timestamp;
use kb_core::wire::{Body, Event, RunStatus, StepStatus};
use kb_service::service::{Clock, Progress};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long nothing is printed before a line lists the running steps.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Prints events and the output of steps as lines to stderr, without a live display.
pub(super) struct PlainLines {
    terminal: Terminal,
    /// Whole lines that are not written yet.
    lines: String,
    seen: EventClock,
    groups: ItemGroups,
    output: StepOutput,
    /// The step instance whose group of lines is open.
    group: Option<String>,
    /// Start of each running step instance.
    running: BTreeMap<String, Timestamp>,
    last_line: Timestamp,
    clock: Clock,
    /// The line that the run is interrupted; it is printed after the running steps have ended.
    interrupted: Option<String>,
}

impl PlainLines {
    pub(super) fn new(output: OutputMode, terminal: Terminal, clock: Clock) -> Self {
        PlainLines {
            terminal,
            lines: String::new(),
            seen: EventClock::default(),
            groups: ItemGroups::default(),
            output: StepOutput::new(output),
            group: None,
            running: BTreeMap::new(),
            last_line: clock.now(),
            clock,
            interrupted: None,
        }
    }

    fn push(&mut self, text: &str) {
        self.lines.push_str(text);
        self.lines.push('\n');
        self.last_line = self.clock.now();
        if self.lines.len() >= BUFFER_BYTES {
            self.flush();
        }
    }

    fn open_group(&mut self, instance: &str) {
        if self.terminal.annotates() && self.group.as_deref() != Some(instance) {
            self.close_group();
            self.command(&workflow_commands::group(instance));
            self.group = Some(instance.to_owned());
        }
    }

    fn close_group(&mut self) {
        if self.group.take().is_some() {
            self.command(workflow_commands::END_GROUP);
        }
    }

    fn output_lines(&mut self, instance: &str, lines: Vec<String>) {
        if !lines.is_empty() {
            self.open_group(instance);
        }
        for text in lines {
            self.push(&text);
        }
        self.close_group();
    }

    /// Writes a workflow command behind the lines before it.
    fn command(&mut self, text: &str) {
        self.flush();
        // A closed stderr must not stop the run.
        let _ = self.terminal.workflow_commands(&format!("{text}\n"));
    }
}

/// The line that lists the running steps, each with the time since it started, and its items.
fn still_running(
    running: &BTreeMap<String, Timestamp>,
    groups: &ItemGroups,
    now: Timestamp,
) -> String {
    let mut steps: BTreeMap<&str, Timestamp> = BTreeMap::new();
    for (name, at) in running {
        let step = step_of(name).filter(|step| groups.text(step).is_some()).unwrap_or(name);
        let first = steps.entry(step).or_insert(*at);
        *first = (*first).min(*at);
    }
    let since = |(name, at): (&str, Timestamp)| {
        let items = groups.text(name).map(|items| format!(", {items}")).unwrap_or_default();
        format!("{} ({}{items})", plain(name), clock(at, now))
    };
    let names: Vec<String> = steps.into_iter().map(since).collect();
    format!("{:>8}  still running: {}", "", names.join(", "))
}

impl Renderer for PlainLines {
    fn event(&mut self, event: &Event) {
        self.seen.see(event);
        self.groups.add(event);
        let name = event.place.as_ref().map(|p| p.instance.to_string()).unwrap_or_default();
        match &event.body {
            Body::StepStart { .. } => {
                self.output.started(&name);
                self.running.insert(name.clone(), event.at);
            }
            Body::StepWaiting { .. } => drop(self.running.remove(&name)),
            Body::AttemptEnd { .. } => {
                let lines = self.output.attempt_ended(&name);
                self.output_lines(&name, lines);
            }
            Body::StepEnd { status, .. } => {
                self.running.remove(&name);
                let lines = self.output.ended(&name, *status == StepStatus::Failed);
                self.output_lines(&name, lines);
            }
            Body::RunWaiting { status: RunStatus::Interrupted, .. } => {
                self.interrupted = line(event, &self.seen);
                return;
            }
            _ => {}
        }
        if is_grouped(event) {
            return;
        }
        let Some(text) = line(event, &self.seen) else { return };
        let items = matches!(event.body, Body::StepEnd { .. }).then(|| self.groups.text(&name));
        match items.flatten() {
            Some(items) => self.push(&format!("{text}; {items}")),
            None => self.push(&text),
        }
    }

    fn output(&mut self, instance: &str, channel: &'static str, text: &str) {
        self.output.stored(instance, channel, text);
    }

    fn replayed(&mut self, event: &Event) {
        self.seen.replay(event);
        self.groups.add(event);
    }

    fn flush(&mut self) {
        if !self.lines.is_empty() {
            // A closed stderr must not stop the run.
            let _ = self.terminal.err(&self.lines);
            self.lines.clear();
        }
    }

    fn tick(&mut self) {
        let now = self.clock.now();
        if !self.running.is_empty() && now.since(self.last_line) >= HEARTBEAT {
            self.push(&still_running(&self.running, &self.groups, now));
            self.flush();
        }
    }

    fn close(&mut self) {
        self.close_group();
        let interrupted = self.interrupted.take();
        interrupted.into_iter().for_each(|text| self.push(&text));
        self.flush();
    }

    fn progress(&mut self, instance: &str, progress: &Progress) {
        let Progress::Output(text) = progress else { return };
        let lines = self.output.line(instance, text);
        if !lines.is_empty() {
            self.open_group(instance);
        }
        lines.iter().for_each(|text| self.push(text));
    }

    fn note(&mut self, text: &str) {
        self.flush();
        let _ = self.terminal.err(&format!("{text}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_steps_are_listed_when_nothing_was_printed_for_a_while() {
        let clock = Clock::system();
        let now = || clock.now();
        let mut lines = PlainLines::new(OutputMode::Auto, Terminal::new(), clock.clone());
        let minute = 60_000;
        lines.running.insert("review[a]".to_owned(), Timestamp(now().0 - 2 * minute));
        let before = lines.last_line;
        lines.tick();
        assert_eq!(lines.last_line, before, "nothing is due after a fresh line");
        lines.last_line = Timestamp(now().0 - minute);
        lines.tick();
        assert!(now().since(lines.last_line) < HEARTBEAT, "the line counts as output");
        let listed = Timestamp(lines.running["review[a]"].0 + 125_000);
        let listed = still_running(&lines.running, &lines.groups, listed);
        assert_eq!(listed, "          still running: review[a] (2m05s)");
        lines.running.clear();
        lines.last_line = Timestamp(now().0 - minute);
        lines.tick();
        assert!(now().since(lines.last_line) >= HEARTBEAT, "no step runs");
    }
}
