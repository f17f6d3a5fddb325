//! `kb init`: a new project.

use super::exit::{CliResult, Exit};
use super::terminal::{DIM, GOOD, Terminal, paint};
use crate::service::{self, Environment};

/// Create `.kb/` with settings, two specialists and a playbook
///
/// Existing files are not changed.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder of the project; by default the working directory
    #[arg(value_name = "DIR", default_value = ".")]
    folder: std::path::PathBuf,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let result = service::init(environment, &args.folder)?;
    if args.json {
        terminal.json(&result)?;
        return Ok(Exit::Done);
    }
    for path in &result.created {
        terminal.out(&format!("{} {path}\n", paint(GOOD, "created")))?;
    }
    for path in &result.kept {
        terminal.out(&format!("{}    {path} (exists already)\n", paint(DIM, "kept")))?;
    }
    terminal.note("\nnext: `kb doctor` checks the models, `kb playbook plan add-feature --param featureName=x` shows the plan\n")?;
    Ok(Exit::Done)
}
