//! `kb run logs`

use crate::cli::render::line;
use crate::cli::render::table::plain;
use crate::cli::terminal::{DIM, Terminal, paint};
use crate::cli::{CliResult, Exit};
use crate::service::runs::ProjectContext;
use crate::service::{self, Environment, LogEntry};
use crate::value::Timestamp;
use std::time::Duration;

/// Show the log of a run, with the output of processes and models
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    run: String,
    /// Only this step id, or an item such as `review[src/a.rs]`
    step: Option<String>,
    /// Print new entries until the run ends
    #[arg(short, long)]
    follow: bool,
    /// Show the prompts of model calls, with secrets masked
    #[arg(long)]
    prompts: bool,
}

/// Interval between reads of the journal.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let mut reader = service::read_run(&ProjectContext::find(environment)?, &args.run)?
        .with_prompts(args.prompts);
    if let Some(step) = &args.step {
        reader.require_step(step)?;
    }
    let mut began = None;
    loop {
        // Checked before reading, so that events up to the end of the run are not missed.
        let live = args.follow && reader.is_live()?;
        while let Some(entries) = reader.next_entries()? {
            for entry in entries {
                if let Some(text) = entry_text(&entry, args.step.as_deref(), &mut began) {
                    terminal.out(&text)?;
                }
            }
        }
        if !live {
            return Ok(Exit::Done);
        }
        std::thread::sleep(PAUSE);
    }
}

fn entry_text(
    entry: &LogEntry,
    only: Option<&str>,
    began: &mut Option<Timestamp>,
) -> Option<String> {
    match entry {
        LogEntry::Event(event) => {
            let began = *began.get_or_insert(event.at);
            let place = event.place.as_ref();
            let own = only.is_none_or(|only| {
                place.is_some_and(|p| p.step.as_str() == only || &*p.instance == only)
            });
            own.then(|| line(event, began)).flatten().map(|line| line + "\n")
        }
        LogEntry::Text { instance, step, channel, text } => {
            let own = only.is_none_or(|only| step == only || instance == only);
            let mark = paint(DIM, &format!("{channel:>8}  {}", plain(instance)));
            let lines = text.lines().map(|text| format!("{mark}  {}\n", plain(text)));
            own.then(|| lines.collect())
        }
    }
}
