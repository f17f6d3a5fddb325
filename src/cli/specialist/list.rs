//! `kb specialist list`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::broken;
use crate::cli::render::table::Table;
use crate::cli::terminal::Terminal;
use kb_core::wire::SpecialistView;
use kb_service::service::{self, Environment, Project};

/// List the specialists and agent profiles of the project
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let rows = service::list_specialists(&project);
    let files = service::broken_specialists(&project);
    let broken = (&files[..], "kb specialist validate");
    broken::list(
        &rows,
        table,
        args.json,
        "no specialists yet; `kb specialist new ID` creates one\n",
        broken,
        terminal,
    )?;
    Ok(Exit::Done)
}

fn table(rows: &[SpecialistView]) -> String {
    let mut table = Table::new(["ID", "TIER", "TOOLS", "NAME"]).shorten("TOOLS");
    for row in rows {
        table.row([&row.id, row.tier, &row.tools.join(", "), &row.name]);
    }
    table.text()
}
