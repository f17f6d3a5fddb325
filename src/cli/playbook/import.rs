use crate::cli::render::diagnostics;
use crate::cli::terminal::{GOOD, Terminal, paint};
use crate::cli::{CliResult, Exit};
use crate::service;

/// Copy definitions from elsewhere into `.kb/`, after checking them
///
/// Takes playbooks, workflows and specialists; the file's content says which. A file with errors, or
/// one whose place is taken, is not copied and the others are.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<std::path::PathBuf>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let report = service::import(&service::here()?, &args.files)?;
    if args.json {
        terminal.json(&report.view())?;
    } else {
        diagnostics::print(&report.diagnostics, &report.sources, terminal)?;
        for (from, to) in &report.copied {
            terminal.out(&format!("{} {from} → {to}\n", paint(GOOD, "imported")))?;
        }
        for (from, why) in &report.refused {
            terminal.err(&format!("not imported: {from}: {why}\n"))?;
        }
    }
    Ok(if report.refused.is_empty() { Exit::Done } else { Exit::BadInput })
}
