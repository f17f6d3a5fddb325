//! The live display of a run on a terminal: a header and one row for each running step at the bottom;
//! finished steps, their output and failures are printed above.

use super::counts::RunCounts;
use super::event_clock::EventClock;
use super::event_line::{brief_args, stdout_truncated};
use super::item_groups::{ItemGroups, is_grouped, step_of, step_of_item};
use super::quantity::{clock, cost, grouped, rounded, time};
use super::screen::{Screen, last_words};
use super::status::Status;
use super::step_output::{StepOutput, clean};
use super::table::plain;
use super::{OutputMode, Renderer, line};
use crate::cli::terminal::{DIM, HINT, TITLE, WARNING, paint};
use console::measure_text_width;
use kb_base::value::Timestamp;
use kb_core::wire::{Body, Event, RunStatus, StepStatus, UsageView, Verdict};
use kb_service::service::{Clock, Progress};
use std::time::Duration;

/// Shows the running steps and prints everything else.
pub(super) struct Live {
    screen: Screen,
    /// Running step instances, in the order of their start.
    rows: Vec<Row>,
    counts: RunCounts,
    groups: ItemGroups,
    definition: String,
    seen: EventClock,
    /// How long the last run of the definition took.
    expected: Option<Duration>,
    /// Number of redraws, for the spinner.
    ticks: usize,
    /// Whether a question has the screen.
    is_paused: bool,
    clock: Clock,
    output: StepOutput,
    /// The line that the run is interrupted; it is printed after the running steps have ended.
    interrupted: Option<String>,
}

/// The row of a running step.
struct Row {
    name: String,
    began: Timestamp,
    what: String,
    model: Option<String>,
    usage: UsageView,
    /// The current tool call.
    now: Option<String>,
    /// The current line of output or model text.
    text: String,
    verdict: Option<Verdict>,
    attempt: u32,
}

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Number of bytes of a line of model text that are kept.
const TEXT_BYTES: usize = 4096;
/// Number of columns below which a row shows no output.
const TEXT_COLUMNS: usize = 12;

impl Live {
    pub(super) fn new(output: OutputMode, steps: usize, clock: Clock) -> Self {
        Live {
            screen: Screen::new(),
            rows: Vec::new(),
            counts: RunCounts::new(steps),
            groups: ItemGroups::default(),
            definition: String::new(),
            seen: EventClock::default(),
            expected: None,
            ticks: 0,
            is_paused: false,
            clock,
            output: StepOutput::new(output),
            interrupted: None,
        }
    }

    fn start(&mut self, name: &str, at: Timestamp, what: String, attempt: u32) {
        self.output.started(name);
        let began = match self.rows.iter().position(|row| row.name == name) {
            Some(at) => self.rows.remove(at).began,
            None => at,
        };
        self.rows.push(Row::new(name, began, what, attempt));
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut Row)) {
        let step = step_of(name).unwrap_or(name);
        if let Some(row) = self.rows.iter_mut().find(|row| row.name == name || row.name == step) {
            change(row);
        }
    }

    /// Shows the start of an item in the row of its step.
    fn start_item(&mut self, step: &str, name: &str, at: Timestamp, what: String) {
        self.output.started(name);
        if !self.rows.iter().any(|row| row.name == step) {
            self.rows.push(Row::new(step, at, what, 1));
        }
    }

    /// Removes the row of a finished step and prints one line about it above.
    fn finish(&mut self, name: &str, event: &Event, status: StepStatus) {
        let row = self.rows.iter().position(|row| row.name == name).map(|at| self.rows.remove(at));
        let failed = status == StepStatus::Failed;
        let lines = self.output.ended(name, failed);
        lines.iter().for_each(|text| self.screen.print(text));
        let Body::StepEnd {
            usage, duration_ms, verdict, error, stdout_cut, kept_from, reason, ..
        } = &event.body
        else {
            return;
        };
        let mark = paint(status.style(), mark(status));
        let mut parts = vec![format!("{mark} {}  {}", paint(TITLE, &plain(name)), status.name())];
        if *duration_ms > 0 {
            parts.push(time(*duration_ms));
        }
        parts.extend(kept_from.as_ref().map(|kept| format!("kept from run {}", kept.run)));
        parts.extend(self.groups.text(name).or_else(|| reason.as_deref().map(plain)));
        parts.extend(row.as_ref().and_then(|row| row.model.as_deref()).map(plain));
        parts.extend((usage.model_calls > 0).then(|| totals(usage)));
        parts.extend(verdict.map(|verdict| format!("gate {}", verdict.styled())));
        parts.extend(error.as_ref().map(|e| format!("{} [{}]", plain(&e.message), e.code)));
        parts.extend(
            stdout_cut
                .map(|cut| format!("{}: {}", paint(WARNING, "warning"), stdout_truncated(cut))),
        );
        self.screen.print_wrapped(&parts.join("  "));
    }

    fn print_line(&mut self, event: &Event) {
        line(event, &self.seen).into_iter().for_each(|text| self.screen.print_wrapped(&text));
    }

    fn draw(&mut self) {
        let (rows, columns) = Screen::size();
        let Some(began) = self.seen.driven_since() else { return self.screen.draw(Vec::new()) };
        let mut block = vec![self.header(began)];
        // Some lines of what was printed before stay visible.
        let room = rows.saturating_sub(4).max(1);
        let shown = if self.rows.len() > room { room - 1 } else { self.rows.len() };
        let spinner = SPINNER[self.ticks % SPINNER.len()];
        let now = self.clock.now();
        let newest = self.rows.iter().rev().take(shown);
        block
            .extend(newest.map(|row| row.text(spinner, self.groups.text(&row.name), columns, now)));
        if self.rows.len() > shown {
            let more = format!("  +{} more running", self.rows.len() - shown);
            block.push(paint(DIM, &more));
        }
        self.screen.draw(block);
    }

    fn header(&self, began: Timestamp) -> String {
        let mut time = clock(began, self.clock.now());
        time.extend(self.expected.map(|expected| format!(" of about {}", rounded(expected))));
        let mut parts = vec![self.counts.text(), time];
        parts.extend(self.counts.spent());
        let definition = paint(TITLE, &plain(&self.definition));
        format!("{definition}  {}", parts.join("  ")).trim_start().to_owned()
    }
}

impl Renderer for Live {
    fn event(&mut self, event: &Event) {
        self.seen.see(event);
        self.counts.add(event);
        self.groups.add(event);
        let name = event.place.as_ref().map(|p| p.instance.to_string()).unwrap_or_default();
        match &event.body {
            Body::StepStart { kind, specialist, tier } => {
                let attempt = event.place.as_ref().and_then(|p| p.attempt).unwrap_or(1);
                let tier = tier.map(|t| format!(" ({t})")).unwrap_or_default();
                let what = match specialist {
                    Some(who) => format!("{}{tier}", plain(who)),
                    None => (*kind).to_owned(),
                };
                match event.place.as_ref().and_then(step_of_item) {
                    Some(step) => self.start_item(step, &name, event.at, what),
                    None => self.start(&name, event.at, what, attempt),
                }
            }
            Body::ModelCall { model, usage, .. } => self.change(&name, |row| {
                row.model = Some(model.clone());
                row.add(usage);
            }),
            Body::ToolCall { tool, args, .. } => self.change(&name, |row| {
                let args = brief_args(args.as_deref());
                row.now = Some(format!("{} {args}", plain(tool)).trim_end().to_owned());
            }),
            Body::ToolResult { error, .. } => {
                self.change(&name, |row| row.now = None);
                if error.is_some() {
                    self.print_line(event);
                }
            }
            Body::VerificationComplete { verdict, .. } => {
                self.change(&name, |row| row.verdict = Some(*verdict));
                if *verdict != Verdict::Passed {
                    self.print_line(event);
                }
            }
            Body::AttemptEnd { .. } => {
                let lines = self.output.attempt_ended(&name);
                lines.iter().for_each(|text| self.screen.print(text));
            }
            Body::StepEnd { status, .. } if is_grouped(event) => {
                let lines = self.output.ended(&name, *status == StepStatus::Failed);
                lines.iter().for_each(|text| self.screen.print(text));
            }
            Body::StepEnd { status, .. } => self.finish(&name, event, *status),
            Body::RunWaiting { status: RunStatus::Interrupted, .. } => {
                self.interrupted = line(event, &self.seen);
            }
            Body::RunEnd { .. } => {}
            Body::StepWaiting { .. } => {
                self.rows.retain(|row| row.name != name);
                self.print_line(event);
            }
            Body::RunStart { definition, .. } => {
                self.definition.clone_from(definition);
                self.print_line(event);
            }
            // `line` says which events have no text.
            _ => self.print_line(event),
        }
    }

    fn output(&mut self, instance: &str, channel: &'static str, text: &str) {
        self.output.stored(instance, channel, text);
    }

    fn replayed(&mut self, event: &Event) {
        self.counts.add(event);
        self.groups.add(event);
        self.seen.replay(event);
        if let Body::RunStart { definition, .. } = &event.body {
            self.definition.clone_from(definition);
        }
    }

    fn progress(&mut self, instance: &str, progress: &Progress) {
        match progress {
            Progress::Token(text) => self.change(instance, |row| row.add_text(text)),
            Progress::Tool(tool) => self.change(instance, |row| row.now = Some(plain(tool))),
            Progress::Model(model) => self.change(instance, |row| {
                row.model = Some(model.clone());
                row.now = None;
                row.text.clear();
            }),
            Progress::Output(text) => {
                let lines = self.output.line(instance, text);
                if lines.is_empty() {
                    self.change(instance, |row| row.text = clean(text));
                }
                lines.iter().for_each(|line| self.screen.print(line));
            }
        }
    }

    fn flush(&mut self) {
        if self.screen.has_lines() {
            self.draw();
        }
    }

    fn tick(&mut self) {
        self.ticks += 1;
        if !self.is_paused {
            self.draw();
        }
    }

    fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
        if is_paused {
            self.screen.draw(Vec::new());
        }
    }

    fn expect(&mut self, duration: Option<Duration>) {
        self.expected = duration;
    }

    fn wants_expectation(&self) -> bool {
        true
    }

    fn note(&mut self, text: &str) {
        self.screen.print_wrapped(&paint(WARNING, text));
        self.draw();
    }

    fn close(&mut self) {
        let interrupted = self.interrupted.take();
        interrupted.into_iter().for_each(|text| self.screen.print_wrapped(&text));
        self.screen.draw(Vec::new());
    }
}

impl Row {
    fn new(name: &str, began: Timestamp, what: String, attempt: u32) -> Row {
        Row {
            name: name.to_owned(),
            began,
            what,
            model: None,
            usage: UsageView { cost_usd: Some(0.0), ..UsageView::default() },
            now: None,
            text: String::new(),
            verdict: None,
            attempt,
        }
    }

    fn add(&mut self, usage: &UsageView) {
        self.usage.prompt_tokens += usage.prompt_tokens;
        self.usage.completion_tokens += usage.completion_tokens;
        self.usage.model_calls += usage.model_calls.max(1);
        self.usage.cost_usd = self.usage.cost_usd.zip(usage.cost_usd).map(|(a, b)| a + b);
    }

    /// Adds a piece of model text; the row shows its last line.
    fn add_text(&mut self, piece: &str) {
        self.text.push_str(piece);
        let line = self.text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
        let excess = self.text.len().saturating_sub(TEXT_BYTES);
        let from = (line.max(excess)..=self.text.len()).find(|at| self.text.is_char_boundary(*at));
        self.text.drain(..from.unwrap_or_default());
    }

    /// `items` is the state of the items of the step, if it has any.
    fn text(&self, spinner: &str, items: Option<String>, columns: usize, now: Timestamp) -> String {
        let elapsed = clock(self.began, now);
        let (spinner, name) = (paint(HINT, spinner), paint(TITLE, &plain(&self.name)));
        let mut parts = vec![format!("{spinner} {name}  {}", paint(DIM, &elapsed))];
        parts.push(items.unwrap_or_else(|| self.what.clone()));
        if self.attempt > 1 {
            parts.push(format!("attempt {}", self.attempt));
        }
        parts.extend(self.model.as_deref().map(plain));
        parts.extend((self.usage.model_calls > 0).then(|| totals(&self.usage)));
        parts.extend(self.verdict.map(|verdict| format!("gate {}", verdict.name())));
        parts.extend(self.now.clone());
        let row = parts.join("  ");
        let room = columns.saturating_sub(measure_text_width(&row) + 3);
        match plain(&self.text) {
            text if text.trim().is_empty() || room < TEXT_COLUMNS => row,
            text => format!("{row}  {}", paint(DIM, &last_words(&text, room))),
        }
    }
}

fn totals(usage: &UsageView) -> String {
    let tokens = usage.prompt_tokens + usage.completion_tokens;
    paint(DIM, &format!("{} tokens  {}", grouped(tokens), cost(usage)))
}

fn mark(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Succeeded => "✓",
        StepStatus::Failed => "✗",
        StepStatus::Pending
        | StepStatus::Ready
        | StepStatus::Running
        | StepStatus::Verifying
        | StepStatus::Waiting
        | StepStatus::Skipped
        | StepStatus::Blocked
        | StepStatus::Cancelled => "-",
    }
}
