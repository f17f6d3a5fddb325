//! `kb specialist validate`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::diagnostics;
use crate::cli::terminal::{GOOD, Terminal, paint};
use kb_base::value::counted;
use kb_service::service::{self, Environment, Project};

/// Check specialists and agent profiles and report all problems
///
/// Without ids, checks all specialists of the project. Exits with 2 if there is an error.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Ids or paths of specialists
    #[arg(value_name = "ID|PATH")]
    paths: Vec<String>,
    /// Print a JSON list of problems
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = match args.paths.first() {
        Some(first) => Project::find_or_file(environment, first)?,
        None => Project::find(environment)?,
    };
    let report = service::validate_specialists(&project, &args.paths)?;
    if args.json {
        terminal.json(&report.views())?;
    } else {
        diagnostics::print(&report.diagnostics, &report.sources, terminal)?;
        if !report.has_errors() {
            let what = counted(report.checked, "specialist");
            terminal.out(&format!("{} {what}\n", paint(GOOD, "valid:")))?;
        }
    }
    Ok(if report.has_errors() { Exit::BadInput } else { Exit::Done })
}
