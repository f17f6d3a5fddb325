//! `kb playbook match`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::Table;
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment, Match, Project};

/// Find playbooks whose triggers match a phrase, best match first
///
/// Exits with 4 if there is no match.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A request in natural language, such as `fix the bug in the cart`
    phrase: String,
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let matches = service::match_phrase(&Project::find(environment)?, &args.phrase);
    terminal.result(args.json, &matches, || table(&matches))?;
    if matches.is_empty() {
        terminal.note("no playbook matches; `kb playbook list` lists all playbooks\n")?;
        return Ok(Exit::NotFound);
    }
    Ok(Exit::Done)
}

/// The matches as a table.
pub(super) fn table(matches: &[Match]) -> String {
    let mut table =
        Table::new(["ID", "MATCH", "TRIGGER", "PARAMETERS", "WHY"]).shorten("PARAMETERS");
    for found in matches {
        let percent = format!("{:.0} %", found.score * 100.0);
        let params: Vec<String> =
            found.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        table.row([&found.id, &percent, &found.trigger, &params.join(" "), &found.why]);
    }
    table.text()
}
