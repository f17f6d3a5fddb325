use crate::cli::render::diagnostics;
use crate::cli::terminal::{GOOD, Terminal, paint};
use crate::cli::{CliResult, Exit};
use crate::service;
use crate::value::counted;

/// Check specialists and agent profiles: all problems of all files at once
///
/// Without paths, everything of the project. Exits with 2 where something is an error.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Ids or paths
    paths: Vec<String>,
    /// One JSON list of problems
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let project = match args.paths.first() {
        Some(first) => service::here_or_bare(first)?,
        None => service::here()?,
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
