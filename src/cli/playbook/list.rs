//! `kb playbook list`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::broken;
use crate::cli::render::table::Table;
use crate::cli::terminal::Terminal;
use kb_core::wire::DefinitionView;
use kb_service::service::{self, Environment, Project};

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
    let files = project.broken_files();
    let broken = (&files[..], "kb playbook validate");
    broken::list(
        &rows,
        table,
        args.json,
        "no playbooks yet; `kb playbook new ID` creates one\n",
        broken,
        terminal,
    )?;
    Ok(Exit::Done)
}

fn table(rows: &[DefinitionView]) -> String {
    let mut table = Table::new(["ID", "STEPS", "PARAMETERS", "NAME"]).shorten("PARAMETERS");
    for row in rows {
        let params: Vec<&str> = row.params.iter().map(|p| p.name.as_str()).collect();
        table.row([&row.id, &row.steps.len().to_string(), &params.join(", "), &row.name]);
    }
    table.text()
}
