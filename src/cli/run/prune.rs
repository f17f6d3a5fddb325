//! `kb run prune`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::bytes;
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use kb_base::value::{counted, parse_duration};
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, Environment, PruneRequest};
use std::time::Duration;

/// Remove runs that ended long ago
///
/// Removes their events, logs and outputs, and large values that no other run uses. Runs that have not
/// ended stay. Child runs stay and go with their parent. Safe while other runs execute.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Minimum time since the end of a run, such as `7d`; by default `journal.retention`, or 30 days
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<Duration>,
    /// Number of newest runs that stay, whatever their age; child runs do not count
    #[arg(long, value_name = "N", default_value_t = 20)]
    keep: usize,
    /// List the runs without removing them
    #[arg(long)]
    dry_run: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

fn age(text: &str) -> Result<Duration, String> {
    // The parser of definitions refuses zero.
    if text == "0" || text == "0s" {
        return Ok(Duration::ZERO);
    }
    parse_duration(text).map_err(|error| error.to_string())
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let Args { older_than, keep, dry_run, json } = args;
    let pruned = service::prune_runs(environment, PruneRequest { older_than, keep, dry_run })?;
    if !dry_run {
        let context = ProjectContext::find(environment)?;
        runtime::block_on(Workers::One, service::runs::sweep_trees(&context))?;
    }
    if json {
        terminal.json(&pruned)?;
        return Ok(Exit::Done);
    }
    let lines: String = pruned.runs.iter().map(|run| format!("{run}\n")).collect();
    terminal.out(&lines)?;
    let count = counted(pruned.runs.len(), "run");
    terminal.note(&if dry_run {
        format!("{count} would be removed\n")
    } else {
        format!("removed {count} and {} of large values\n", bytes(pruned.blob_bytes))
    })?;
    Ok(Exit::Done)
}
