//! Events as plain lines, for pipes, files and CI.

use super::event_clock::EventClock;
use super::quantity::clock;
use super::renderer::BUFFER_BYTES;
use super::step_output::StepOutput;
use super::table::plain;
use super::{OutputMode, Renderer, line, workflow_command};
use crate::cli::terminal::Terminal;
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
    output: StepOutput,
    /// Whether GitHub Actions reads the lines, so that they may contain workflow commands.
    annotates: bool,
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
    pub(super) fn new(output: OutputMode, annotates: bool, clock: Clock) -> Self {
        PlainLines {
            terminal: Terminal::new(),
            lines: String::new(),
            seen: EventClock::default(),
            output: StepOutput::new(output),
            annotates,
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
        if self.annotates && self.group.as_deref() != Some(instance) {
            self.close_group();
            self.push(&workflow_command::group(instance));
            self.group = Some(instance.to_owned());
        }
    }

    fn close_group(&mut self) {
        if self.group.take().is_some() {
            self.push(workflow_command::END_GROUP);
        }
    }

    fn output_lines(&mut self, instance: &str, lines: Vec<String>) {
        if !lines.is_empty() {
            self.open_group(instance);
        }
        for text in lines {
            self.output_line(&text);
        }
        self.close_group();
    }

    fn output_line(&mut self, text: &str) {
        match self.annotates {
            true => self.push(&workflow_command::neutral(text)),
            false => self.push(text),
        }
    }
}

/// The line that lists the running steps, each with the time since it started.
fn still_running(running: &BTreeMap<String, Timestamp>, now: Timestamp) -> String {
    let since =
        |(name, at): (&String, &Timestamp)| format!("{} ({})", plain(name), clock(*at, now));
    let names: Vec<String> = running.iter().map(since).collect();
    format!("{:>8}  still running: {}", "", names.join(", "))
}

impl Renderer for PlainLines {
    fn event(&mut self, event: &Event) {
        self.seen.see(event);
        let name = event.place.as_ref().map(|p| p.instance.to_string()).unwrap_or_default();
        match &event.body {
            Body::StepStart { .. } => {
                self.output.started(&name);
                self.running.insert(name.clone(), event.at);
            }
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
        let Some(text) = line(event, &self.seen) else { return };
        self.push(&text);
    }

    fn output(&mut self, instance: &str, channel: &'static str, text: &str) {
        self.output.stored(instance, channel, text);
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
            self.push(&still_running(&self.running, now));
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
        lines.iter().for_each(|text| self.output_line(text));
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
        let mut lines = PlainLines::new(OutputMode::Auto, false, clock.clone());
        let minute = 60_000;
        lines.running.insert("review[a]".to_owned(), Timestamp(now().0 - 2 * minute));
        let before = lines.last_line;
        lines.tick();
        assert_eq!(lines.last_line, before, "nothing is due after a fresh line");
        lines.last_line = Timestamp(now().0 - minute);
        lines.tick();
        assert!(now().since(lines.last_line) < HEARTBEAT, "the line counts as output");
        let listed =
            still_running(&lines.running, Timestamp(lines.running["review[a]"].0 + 125_000));
        assert_eq!(listed, "          still running: review[a] (2m05s)");
        lines.running.clear();
        lines.last_line = Timestamp(now().0 - minute);
        lines.tick();
        assert!(now().since(lines.last_line) >= HEARTBEAT, "no step runs");
    }
}
