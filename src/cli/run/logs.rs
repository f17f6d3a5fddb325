use crate::cli::render::line;
use crate::cli::render::table::plain;
use crate::cli::terminal::{DIM, Terminal, paint};
use crate::cli::{CliResult, Exit};
use crate::service::{self, LogEntry, Reader};
use crate::value::Timestamp;
use std::time::Duration;

/// Show what happened in a run, with what processes wrote and models said
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A run's id, the first letters of one, or @last
    run: String,
    /// One step, or one item of it (`review[src/a.rs]`)
    step: Option<String>,
    /// Wait for more while the run goes on
    #[arg(short, long)]
    follow: bool,
    /// Show the prompts of model calls too: messages, tools and response schemas, with secrets masked
    #[arg(long)]
    prompts: bool,
}

/// How often the journal is looked at for more.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let mut reader = Reader::open(&service::here()?, &args.run)?.with_prompts(args.prompts);
    if let Some(step) = &args.step {
        reader.has_step(step)?;
    }
    let mut began = None;
    loop {
        // Asked for before reading, so that what is written until the end is read too.
        let live = args.follow && reader.is_live()?;
        while let Some(entries) = reader.poll()? {
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
