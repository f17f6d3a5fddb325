//! `kb memory stats`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::bytes;
use crate::cli::render::table::Table;
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment, MemoryStats};

/// Count entries by state, kind and origin, and how they were used
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let stats = service::memory_stats(environment)?;
    terminal.result(args.json, &stats, || text(&stats))?;
    Ok(Exit::Done)
}

fn text(stats: &MemoryStats) -> String {
    let mut table = Table::bare();
    for (label, counts) in
        [("state", &stats.states), ("kind", &stats.kinds), ("trust", &stats.trust)]
    {
        for (name, count) in counts {
            table.row([label, name, &count.to_string()]);
        }
    }
    table.row(["shown to specialists", "", &stats.accesses.to_string()]);
    table.row(["runs in which one helped", "", &stats.helped.to_string()]);
    table.row(["runs in which one did not", "", &stats.did_not_help.to_string()]);
    table.row(["size", "", &bytes(stats.bytes)]);
    table.text()
}
