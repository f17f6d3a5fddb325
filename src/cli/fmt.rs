//! `kb fmt`: the layout of definition files.

use super::exit::{CliResult, Exit};
use super::terminal::{GOOD, Terminal, paint};
use kb_base::value::counted;
use kb_service::service::{self, Environment};
use std::path::PathBuf;

/// Format YAML definition files
///
/// Changes the layout only: indentation, spaces, quotes, long lines. Comments and values stay. Without
/// files, formats all YAML definitions, settings and tests of the project. A comment `# kb-fmt-ignore` leaves the
/// next entry as it is.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files to format
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write nothing; list the files that are not formatted and exit with 1 if there are any
    #[arg(long)]
    check: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let files = service::format_files(environment, &args.files)?;
    let changed: Vec<_> = files.iter().filter(|file| file.text.is_some()).collect();
    let word = if args.check { "not formatted:" } else { "formatted" };
    for file in &changed {
        if !args.check {
            file.write()?;
        }
        terminal.out(&format!("{} {}\n", paint(GOOD, word), file.shown))?;
    }
    let rest = files.len() - changed.len();
    terminal.note(&format!("{} unchanged\n", counted(rest, "file")))?;
    Ok(if args.check && !changed.is_empty() { Exit::RunFailed } else { Exit::Done })
}
