//! A failed step in the summary of a run: its error, command, time, evidence and last output.

use super::quantity::time;
use super::status::Status;
use super::step_output::{TAIL_LINES, tail};
use super::table::plain;
use crate::cli::terminal::{DIM, HINT, WARNING, paint};
use crate::cli::workflow_commands;
use kb_base::value::{Json, counted};
use kb_core::wire::{ErrorView, ProcessEvidence, StepStatus};

/// A step that failed.
#[derive(Debug)]
pub(in crate::cli) struct Failed {
    /// Name of the step instance.
    pub(in crate::cli) instance: String,
    /// Position of the step in its file, `PATH:LINE:COLUMN`.
    pub(in crate::cli) place: Option<String>,
    /// Whether the failure is tolerated.
    pub(in crate::cli) tolerated: bool,
    /// The failure as the last attempt or the step reported it.
    pub(in crate::cli) error: Option<ErrorView>,
    /// Milliseconds since its first attempt; 0 if it never started.
    pub(in crate::cli) duration_ms: u64,
    /// Facts about its last attempt.
    pub(in crate::cli) attempt: LastAttempt,
}

/// Facts about the last attempt of a step instance.
#[derive(Debug, Default)]
pub(in crate::cli) struct LastAttempt {
    /// The command of its process.
    pub(in crate::cli) command: Option<String>,
    /// The observations of checks of its gate that failed.
    pub(in crate::cli) evidence: Vec<String>,
    /// The last lines of each stream: channel, number of earlier lines, lines.
    pub(in crate::cli) streams: Vec<(&'static str, usize, Vec<String>)>,
}

impl LastAttempt {
    /// Adds the stored text of a stream.
    pub(in crate::cli) fn add_stream(&mut self, channel: &'static str, text: &str) {
        let (skipped, lines) = tail(text);
        match self.streams.iter_mut().find(|(own, ..)| *own == channel) {
            Some((_, all_skipped, all)) => {
                all.extend(lines);
                let more = all.len().saturating_sub(TAIL_LINES);
                all.drain(..more);
                *all_skipped += skipped + more;
            }
            None => self.streams.push((channel, skipped, lines)),
        }
    }
}

/// The command in the recorded facts about a process: the script of a shell step, else the words.
pub(in crate::cli) fn command(process: &ProcessEvidence) -> Option<String> {
    const SHELL: [&str; 4] = ["bash", "-euo", "pipefail", "-c"];
    let words: Vec<&str> = process.argv.as_ref()?.iter().map(String::as_str).collect();
    match words.split_last() {
        Some((script, rest)) if rest == SHELL => Some((*script).to_owned()),
        _ => Some(words.join(" ")),
    }
}

/// The command in the arguments of a tool call, if it starts a process.
pub(in crate::cli) fn command_of_call(args: &Json) -> Option<String> {
    if let Some(text) = args.get("command").and_then(Json::as_str) {
        return Some(text.to_owned());
    }
    let words: Vec<&str> = args.get("argv")?.as_array()?.iter().filter_map(Json::as_str).collect();
    Some(words.join(" "))
}

impl Failed {
    /// The entry of the summary. `with_output` adds the last lines of output, for displays that did
    /// not show them.
    pub(in crate::cli) fn text(&self, with_output: bool) -> String {
        let name = plain(&self.instance);
        let word =
            if self.tolerated { paint(WARNING, "tolerated") } else { StepStatus::Failed.styled() };
        let mut text = format!("{word} {name}");
        if let Some(error) = &self.error {
            text.push_str(&format!(": {} [{}]", plain(&error.message), error.code));
            text.extend(error.help.as_ref().map(|help| hint(help)));
        }
        if let Some(place) = &self.place {
            text.push_str(&row("step", &plain(place)));
        }
        if let Some(command) = &self.attempt.command {
            text.push_str(&row("command", &brief(command)));
        }
        if self.duration_ms > 0 {
            text.push_str(&row("duration", &time(self.duration_ms)));
        }
        self.attempt.evidence.iter().for_each(|line| text.push_str(&format!("\n  {line}")));
        if with_output {
            text.push_str(&self.output());
        }
        text
    }

    /// The annotation for GitHub Actions. `folder` is the project folder in the repository, empty or with
    /// a `/` at its end.
    pub(super) fn annotation(&self, folder: &str) -> String {
        let message =
            self.error.as_ref().map_or(StepStatus::Failed.as_str(), |error| &error.message);
        let place = self.place.as_ref().map(|place| format!("{folder}{place}"));
        workflow_commands::annotation(self.tolerated, &self.instance, place.as_deref(), message)
    }

    fn output(&self) -> String {
        let mut text = String::new();
        for (channel, skipped, lines) in &self.attempt.streams {
            let of = match skipped {
                0 => counted(lines.len(), "line"),
                n => format!("last {} of {} lines", lines.len(), lines.len() + n),
            };
            text.push_str(&row(channel, &of));
            lines.iter().for_each(|line| text.push_str(&format!("\n    {line}")));
        }
        text
    }
}

/// An indented `help:` line below a message.
pub(super) fn hint(help: &str) -> String {
    format!("\n  {} {}", paint(HINT, "help:"), plain(help))
}

fn row(title: &str, text: &str) -> String {
    format!("\n  {} {text}", paint(DIM, &format!("{title:<8}")))
}

/// The first line of a command, shortened.
fn brief(command: &str) -> String {
    const SHOWN: usize = 160;
    let mut lines = command.lines().filter(|line| !line.trim().is_empty());
    let first = plain(lines.next().unwrap_or_default());
    let first = match first.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &first[..at]),
        None => first,
    };
    match lines.count() {
        0 => first,
        more => format!("{first} (and {} more)", counted(more, "line")),
    }
}
