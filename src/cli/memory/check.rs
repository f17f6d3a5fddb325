//! `kb memory check`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::Table;
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment};

/// Check again whether the files are as entries say
///
/// An entry whose checks pass is verified; one whose files changed is stale and shown to no specialist. Exit code 1 if
/// one did not pass.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Ids of entries; without any, all that have checks or anchors
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let checked = service::check_memory(environment, &args.ids)?;
    let exit =
        if checked.iter().any(|one| one.failed.is_some()) { Exit::RunFailed } else { Exit::Done };
    if args.json {
        terminal.json(&checked)?;
        return Ok(exit);
    }
    let mut table = Table::new(["ID", "STATE", "OUTCOME"]);
    for one in &checked {
        let passed = if one.entry.checks.is_empty() { "files unchanged" } else { "checks passed" };
        table.row([
            &one.entry.id,
            one.entry.state.as_str(),
            one.failed.as_deref().unwrap_or(passed),
        ]);
    }
    terminal.out(&table.text())?;
    if checked.is_empty() {
        terminal.note("no entry has checks or anchors\n")?;
    }
    Ok(exit)
}
