use crate::cli::render::diagnostics;
use crate::cli::terminal::{GOOD, Terminal, paint};
use crate::cli::{CliResult, Exit};
use crate::service;
use crate::value::counted;

/// Check definitions: all problems of all files at once
///
/// Without ids, everything of the project. Exits with 2 where something is an error.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Ids or paths
    ids: Vec<String>,
    /// Warnings count as errors
    #[arg(long)]
    strict: bool,
    /// One JSON list of problems
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let project = match args.ids.first() {
        Some(first) => service::here_or_bare(first)?,
        None => service::here()?,
    };
    let report = service::validate_playbooks(&project, &args.ids)?;
    let bad = report.has_errors() || (args.strict && report.has_warnings());
    if args.json {
        terminal.json(&report.views())?;
    } else {
        diagnostics::print(&report.diagnostics, &report.sources, terminal)?;
        if !bad {
            let what = counted(report.checked, "definition");
            terminal.out(&format!("{} {what}\n", paint(GOOD, "valid:")))?;
        }
    }
    Ok(if bad { Exit::BadInput } else { Exit::Done })
}
