//! `kb run events`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, Environment, LogEntry};
use std::time::Duration;

/// Print the events of a run as JSON lines, like `kb playbook run --json`
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    #[arg(default_value = "@last", hide_default_value = true)]
    run: String,
    /// Print new events until the run ends
    #[arg(short, long)]
    follow: bool,
    /// Accepted for consistency; the output is always JSON
    #[arg(long, hide = true)]
    json: bool,
}

/// Interval between reads of the journal.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let mut reader = service::read_run(&ProjectContext::find(environment)?, &args.run)?;
    loop {
        // Checked before reading, so that events up to the end of the run are not missed.
        let live = args.follow && reader.is_live()?;
        while let Some(entries) = reader.next_entries()? {
            let mut lines = String::new();
            for entry in entries {
                if let LogEntry::Event(event) = entry {
                    let line = serde_json::to_string(&event).map_err(std::io::Error::other)?;
                    lines.push_str(&line);
                    lines.push('\n');
                }
            }
            terminal.json_text(&lines)?;
        }
        if !live {
            return Ok(Exit::Done);
        }
        std::thread::sleep(PAUSE);
    }
}
