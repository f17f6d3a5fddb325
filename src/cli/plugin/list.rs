//! `kb plugin list`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::broken;
use crate::cli::render::table::{Table, plain};
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment, PluginView, Project};

/// List the plugins of the project
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let rows = service::list_plugins(&project);
    let files = service::broken_plugins(&project);
    let broken = (&files[..], "kb playbook validate");
    broken::list(
        &rows,
        table,
        args.json,
        "no plugins; define one in `.kb/plugins/ID.yml`\n",
        broken,
        terminal,
    )?;
    Ok(Exit::Done)
}

fn table(rows: &[PluginView]) -> String {
    let mut table = Table::new(["TOOL", "LEVEL", "PROBES", "DESCRIPTION"]);
    for row in rows {
        let about = row.description.lines().next().unwrap_or_default();
        table.row([&row.tool, row.level.as_str(), &row.probes.join(", "), &plain(about)]);
    }
    table.text()
}
