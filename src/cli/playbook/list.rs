//! `kb playbook list`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::{broken, table};
use crate::cli::terminal::Terminal;
use crate::service::{self, Environment, Project};
use crate::wire::DefinitionView;

/// List the playbooks and workflows of the project
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let rows = service::list_playbooks(&project);
    if args.json {
        terminal.json(&rows)?;
    } else {
        terminal.out(&text(&rows))?;
    }
    let files = project.broken_files();
    if rows.is_empty() && files.is_empty() {
        terminal.note("no playbooks yet; `kb playbook new ID` creates one\n")?;
    }
    broken::print(&files, "kb playbook validate", terminal)?;
    Ok(Exit::Done)
}

fn text(rows: &[DefinitionView]) -> String {
    let mut table = table::Table::new(["ID", "STEPS", "PARAMETERS", "NAME"]);
    for row in rows {
        let params: Vec<&str> = row.params.iter().map(|p| p.name.as_str()).collect();
        table.row([&row.id, &row.steps.len().to_string(), &params.join(", "), &row.name]);
    }
    table.text()
}
