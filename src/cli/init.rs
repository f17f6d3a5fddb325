use super::terminal::{DIM, GOOD, Terminal, paint};
use super::{CliResult, Exit};
use crate::service;

/// Make `.kb/` here: settings, two specialists, one playbook
///
/// Files that are there already stay as they are.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where; the present folder unless said
    #[arg(value_name = "DIR", default_value = ".")]
    folder: std::path::PathBuf,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let done = service::init(&args.folder)?;
    if args.json {
        terminal.json(&done)?;
        return Ok(Exit::Done);
    }
    for path in &done.created {
        terminal.out(&format!("{} {path}\n", paint(GOOD, "created")))?;
    }
    for path in &done.kept {
        terminal.out(&format!("{}    {path} (was there already)\n", paint(DIM, "kept")))?;
    }
    terminal.err("\nnext: `kb doctor` looks for models, `kb playbook plan add-feature --param featureName=x` shows what would happen\n")?;
    Ok(Exit::Done)
}
