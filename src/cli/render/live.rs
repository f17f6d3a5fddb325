//! The live display of a run on a terminal.

use super::event_line::{brief_args, stdout_truncated};
use super::quantity::{cost, grouped, time};
use super::status::Status;
use super::step_output::StepOutput;
use super::table::plain;
use super::{OutputMode, Renderer, line};
use crate::cli::escape::escaped;
use crate::cli::terminal::{DIM, TITLE, WARNING, paint};
use crate::service::Progress;
use crate::value::Timestamp;
use crate::wire::{Body, Event, StepStatus, UsageView, Verdict};
use anstream::ColorChoice;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::BTreeMap;

/// One row for each running step at the bottom of the terminal; finished steps are printed above.
pub(super) struct Live {
    screen: MultiProgress,
    rows: BTreeMap<String, Row>,
    model_row: ProgressBar,
    model_text_of: String,
    model_text: String,
    began: Option<Timestamp>,
    colour: bool,
    output: StepOutput,
}

/// The row of a running step.
struct Row {
    bar: ProgressBar,
    what: String,
    model: Option<String>,
    usage: UsageView,
    now: Option<String>,
    verdict: Option<Verdict>,
    attempt: u32,
    colour: bool,
}

/// Length of the row with model text, in characters.
const MODEL_TEXT_CHARS: usize = 60;

impl Live {
    pub(super) fn new(output: OutputMode, _steps: usize) -> Self {
        let colour = anstream::AutoStream::choice(&std::io::stderr()) != ColorChoice::Never;
        let screen = MultiProgress::new();
        let model_row = screen.add(ProgressBar::new_spinner());
        model_row.set_style(style("  {wide_msg:.dim}", colour));
        Live {
            screen,
            rows: BTreeMap::new(),
            model_row,
            model_text_of: String::new(),
            model_text: String::new(),
            began: None,
            colour,
            output: StepOutput::new(output),
        }
    }

    fn start(&mut self, name: &str, what: String, attempt: u32) {
        let (model_row, screen, colour) = (&self.model_row, &self.screen, self.colour);
        let row = self.rows.entry(name.to_owned()).or_insert_with(|| {
            let bar = screen.insert_before(model_row, ProgressBar::new_spinner());
            let template = "{spinner:.cyan} {prefix:.bold}  {elapsed:>4.dim}  {wide_msg}";
            bar.set_style(style(template, colour));
            bar.set_prefix(plain(name));
            Row {
                bar,
                what: String::new(),
                model: None,
                usage: UsageView { cost_usd: Some(0.0), ..UsageView::default() },
                now: None,
                verdict: None,
                attempt,
                colour,
            }
        });
        (row.what, row.attempt, row.now) = (what, attempt, None);
        row.draw();
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut Row)) {
        if let Some(row) = self.rows.get_mut(name) {
            change(row);
            row.draw();
        }
    }

    /// Removes the row of a finished step and prints one line about it above.
    fn finish(&mut self, name: &str, event: &Event, status: StepStatus) {
        let row = self.rows.remove(name);
        let Body::StepEnd { usage, duration_ms, verdict, error, stdout_cut, .. } = &event.body
        else {
            return;
        };
        let mark = paint(status.style(), mark(status));
        let mut parts = vec![format!("{mark} {}  {}", paint(TITLE, &plain(name)), status.name())];
        if *duration_ms > 0 {
            parts.push(time(*duration_ms));
        }
        parts.extend(row.as_ref().and_then(|row| row.model.as_deref()).map(plain));
        parts.extend((usage.model_calls > 0).then(|| totals(usage)));
        parts.extend(verdict.map(|verdict| format!("gate {}", verdict.styled())));
        parts.extend(error.as_ref().map(|e| format!("{} [{}]", plain(&e.message), e.code)));
        parts.extend(
            stdout_cut
                .map(|cut| format!("{}: {}", paint(WARNING, "warning"), stdout_truncated(cut))),
        );
        if let Some(row) = row {
            row.bar.finish_and_clear();
        }
        self.print_above(&parts.join("  "));
        if self.model_text_of == name {
            self.model_row.set_message("");
        }
    }

    fn print_above(&self, text: &str) {
        let _ = self.screen.println(shown(text, self.colour));
    }

    fn show_text(&mut self, name: &str, text: &str) {
        if self.model_text_of != name {
            name.clone_into(&mut self.model_text_of);
            self.model_text.clear();
        }
        self.model_text.push_str(text);
        // The end of the text is new, so the start of a long text is dropped.
        let skip = self.model_text.chars().count().saturating_sub(MODEL_TEXT_CHARS);
        self.model_text = self.model_text.chars().skip(skip).collect();
        self.model_row.set_message(format!("{}: {}", plain(name), plain(&self.model_text)));
        self.model_row.tick();
    }
}

impl Renderer for Live {
    fn event(&mut self, event: &Event) {
        let began = *self.began.get_or_insert(event.at);
        let name = event.place.as_ref().map(|p| p.instance.to_string()).unwrap_or_default();
        match &event.body {
            Body::StepStart { kind, specialist, tier } => {
                let attempt = event.place.as_ref().and_then(|p| p.attempt).unwrap_or(1);
                let tier = tier.map(|t| format!(" ({t})")).unwrap_or_default();
                let what = match specialist {
                    Some(who) => format!("{}{tier}", plain(who)),
                    None => (*kind).to_owned(),
                };
                self.output.started(&name);
                self.start(&name, what, attempt);
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
                    line(event, began).into_iter().for_each(|text| self.print_above(&text));
                }
            }
            Body::VerificationComplete { verdict, .. } => {
                self.change(&name, |row| row.verdict = Some(*verdict));
                if *verdict != Verdict::Passed {
                    line(event, began).into_iter().for_each(|text| self.print_above(&text));
                }
            }
            Body::StepEnd { status, .. } => {
                let failed = *status == StepStatus::Failed;
                self.output.ended(&name, failed).iter().for_each(|text| self.print_above(text));
                self.finish(&name, event, *status);
            }
            Body::RunEnd { .. } | Body::StepReady {} | Body::StepToken { .. } => {}
            Body::AttemptEnd { .. } => {
                self.output.attempt_ended(&name).iter().for_each(|text| self.print_above(text));
            }
            Body::RunStart { .. }
            | Body::RunResume { .. }
            | Body::RunWaiting { .. }
            | Body::StepExpanded { .. }
            | Body::StepNote { .. }
            | Body::StepReset { .. }
            | Body::StepWaiting { .. }
            | Body::RecoveryApplied { .. }
            | Body::LoopPass { .. }
            | Body::ChildStart { .. }
            | Body::ChildEnd { .. }
            | Body::AskOpened { .. }
            | Body::AskAnswered { .. } => {
                line(event, began).into_iter().for_each(|text| self.print_above(&text));
            }
        }
    }

    fn progress(&mut self, instance: &str, progress: &Progress) {
        match progress {
            Progress::Token(text) => self.show_text(instance, text),
            Progress::Tool(tool) => self.change(instance, |row| row.now = Some(plain(tool))),
            Progress::Model(model) => self.change(instance, |row| {
                row.model = Some(model.clone());
                row.now = None;
            }),
            Progress::Output(text) => match self.output.line(instance, text) {
                Some(line) => self.print_above(&line),
                None => self.show_text(instance, text),
            },
        }
    }

    fn output(&mut self, instance: &str, channel: &'static str, text: &str) {
        self.output.stored(instance, channel, text);
    }

    fn tick(&mut self) {
        self.rows.values().for_each(|row| row.bar.tick());
    }

    fn note(&mut self, text: &str) {
        self.print_above(&paint(WARNING, text));
    }

    fn close(&mut self) {
        self.rows.values().for_each(|row| row.bar.finish_and_clear());
        self.model_row.finish_and_clear();
        let _ = self.screen.clear();
    }
}

impl Row {
    fn add(&mut self, usage: &UsageView) {
        self.usage.prompt_tokens += usage.prompt_tokens;
        self.usage.completion_tokens += usage.completion_tokens;
        self.usage.model_calls += usage.model_calls.max(1);
        self.usage.cost_usd = self.usage.cost_usd.zip(usage.cost_usd).map(|(a, b)| a + b);
    }

    fn draw(&self) {
        let mut parts = vec![self.what.clone()];
        if self.attempt > 1 {
            parts.push(format!("attempt {}", self.attempt));
        }
        parts.extend(self.model.as_deref().map(plain));
        parts.extend((self.usage.model_calls > 0).then(|| totals(&self.usage)));
        parts.extend(self.verdict.map(|verdict| format!("gate {}", verdict.name())));
        parts.extend(self.now.clone());
        self.bar.set_message(shown(&parts.join("  "), self.colour));
        self.bar.tick();
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
        _ => "-",
    }
}

/// A text escaped for the terminal, with or without its styles.
fn shown(text: &str, colour: bool) -> String {
    let text = escaped(text);
    match colour {
        true => text.into_owned(),
        false => anstream::adapter::strip_str(&text).to_string(),
    }
}

/// A template without styles; the progress bar library does not support `NO_COLOR`.
fn uncoloured(template: &str) -> String {
    [":.cyan", ":.bold", ":.dim", ".dim"]
        .iter()
        .fold(template.to_owned(), |text, style| text.replace(style, ""))
}

fn style(template: &str, colour: bool) -> ProgressStyle {
    let template = if colour { template.to_owned() } else { uncoloured(template) };
    // An invalid template would be a bug here; the default of the library replaces it.
    ProgressStyle::with_template(&template)
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_nothing_of_the_display_has_a_style() {
        let template = "{spinner:.cyan} {prefix:.bold}  {elapsed:>4.dim}  {wide_msg:.dim}";
        assert_eq!(uncoloured(template), "{spinner} {prefix}  {elapsed:>4}  {wide_msg}");
        assert_eq!(shown(&paint(DIM, "x"), false), "x");
        assert!(shown(&paint(DIM, "x"), true).contains('\x1b'));
    }
}
