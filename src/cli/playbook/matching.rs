use crate::cli::render::table::Table;
use crate::cli::terminal::Terminal;
use crate::cli::{CliResult, Exit};
use crate::service;

/// Find the playbooks whose triggers fit a phrase, the best first
///
/// Exits with 4 where none does.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// What somebody wants, in their own words
    phrase: String,
    /// One JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let matches = service::match_phrase(&service::here()?, &args.phrase);
    if args.json {
        terminal.json(&matches)?;
    } else {
        let mut table = Table::new(["ID", "FITS", "TRIGGER", "NAME"]);
        for found in &matches {
            let percent = format!("{:.0} %", found.score * 100.0);
            table.row([&found.id, &percent, &found.trigger, &found.name]);
        }
        terminal.out(&table.text())?;
    }
    if matches.is_empty() {
        terminal
            .err("no playbook has a trigger like that; `kb playbook list` shows all of them\n")?;
        return Ok(Exit::NotFound);
    }
    Ok(Exit::Done)
}
