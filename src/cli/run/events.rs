use crate::cli::terminal::Terminal;
use crate::cli::{CliResult, Exit};
use crate::service::{self, LogEntry, Reader};
use std::time::Duration;

/// Print a run's events, one JSON object a line, as `kb playbook run --json` does
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A run's id, the first letters of one, or @last
    run: String,
    /// Wait for more while the run goes on
    #[arg(short, long)]
    follow: bool,
    /// The form is always JSON
    #[arg(long, hide = true)]
    json: bool,
}

/// How often the journal is looked at for more.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let mut reader = Reader::open(&service::here()?, &args.run)?;
    loop {
        // Asked for before reading, so that what is written until the end is read too.
        let live = args.follow && reader.is_live()?;
        while let Some(entries) = reader.poll()? {
            let mut lines = String::new();
            for entry in entries {
                if let LogEntry::Event(event) = entry {
                    let line = serde_json::to_string(&event).map_err(std::io::Error::other)?;
                    lines.push_str(&line);
                    lines.push('\n');
                }
            }
            terminal.out(&lines)?;
        }
        if !live {
            return Ok(Exit::Done);
        }
        std::thread::sleep(PAUSE);
    }
}
