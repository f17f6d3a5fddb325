use crate::cli::render::table;
use crate::cli::terminal::{DIM, Terminal, paint};
use crate::cli::{CliResult, Exit};
use crate::service;
use crate::value::counted;

/// List the playbooks and workflows of this project
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// One JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let project = service::here()?;
    let rows = service::list_playbooks(&project);
    if args.json {
        terminal.json(&rows)?;
        return Ok(Exit::Done);
    }
    let mut table = table::Table::new(["ID", "STEPS", "PARAMETERS", "NAME"]);
    for row in &rows {
        let params: Vec<&str> = row.params.iter().map(|p| p.name.as_str()).collect();
        table.row([&row.id, &row.steps.len().to_string(), &params.join(", "), &row.name]);
    }
    terminal.out(&table.text())?;
    if rows.is_empty() {
        terminal.err("no playbooks yet; `kb playbook new ID` makes one\n")?;
    }
    let broken = project.broken_files();
    for file in &broken {
        let text = format!("{} has {}\n", file.path, counted(file.errors, "error"));
        terminal.err(&paint(DIM, &text))?;
    }
    if !broken.is_empty() {
        terminal.err("`kb playbook validate` shows what is wrong with them\n")?;
    }
    Ok(Exit::Done)
}
