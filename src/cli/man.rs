//! `kb man`: manual pages, generated from the definitions of the commands.

use super::exit::{CliError, CliResult, Exit};
use super::terminal::Terminal;
use kb_attempt::replace_file;
use kb_service::service::Environment;
use std::path::{Path, PathBuf};

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
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let count = write_pages(command, &folder).map_err(unusable)?;
    terminal.note(&format!("{count} pages in {}\n", folder.display()))?;
    Ok(Exit::Done)
}

/// Writes the pages of a command and of those below it; returns how many.
fn write_pages(command: clap::Command, folder: &Path) -> std::io::Result<usize> {
    let mut count = 1;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        count += write_pages(below.clone(), folder)?;
    }
    let man = clap_mangen::Man::new(command);
    let mut page = Vec::new();
    man.render(&mut page)?;
    replace_file(&folder.join(man.get_filename()), &page)?;
    Ok(count)
}
