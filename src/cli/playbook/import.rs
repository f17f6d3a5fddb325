//! `kb playbook import`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::diagnostics;
use crate::cli::terminal::{GOOD, Terminal, paint};
use crate::service::{self, Environment, Project};

/// Check definition files and copy them into `.kb/`
///
/// Accepts playbooks, workflows and specialists; the content of a file determines its kind. A file
/// with errors, or one that exists already, is not copied; the other files are.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Files to import
    #[arg(required = true, value_name = "FILE")]
    files: Vec<std::path::PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let report = service::import(&Project::find(environment)?, &args.files)?;
    if args.json {
        terminal.json(&report.view())?;
    } else {
        diagnostics::print(&report.diagnostics, &report.sources, terminal)?;
        for (from, to) in &report.copied {
            terminal.out(&format!("{} {from} → {to}\n", paint(GOOD, "imported")))?;
        }
        for (from, reason) in &report.refused {
            terminal.err(&format!("not imported: {from}: {reason}\n"))?;
        }
    }
    Ok(if report.refused.is_empty() { Exit::Done } else { Exit::BadInput })
}
