//! `kb man`: manual pages, generated from the definitions of the commands.

use super::exit::{CliError, CliResult, Exit};
use super::terminal::Terminal;
use kb_service::service::Environment;
use std::path::PathBuf;

/// Print the manual page of `kb`, or write the pages of all commands
///
/// For example: `kb man | man -l -`, or `kb man --out ~/.local/share/man/man1`, after which `man kb-run-logs`
/// shows a page.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder for the pages of all commands; it is created
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// `command` is the root of all commands.
pub(super) fn run(
    args: Args,
    command: clap::Command,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    let Some(folder) = args.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        terminal.data(&String::from_utf8_lossy(&page))?;
        return Ok(Exit::Done);
    };
    let folder = environment.absolute(&folder);
    let unusable = |error: std::io::Error| CliError::Usage {
        message: format!("`{}` cannot be written: {error}", folder.display()),
        help: None,
    };
    std::fs::create_dir_all(&folder).map_err(unusable)?;
    clap_mangen::generate_to(command, &folder).map_err(unusable)?;
    let count = std::fs::read_dir(&folder).map_err(unusable)?.count();
    terminal.note(&format!("{count} pages in {}\n", folder.display()))?;
    Ok(Exit::Done)
}
