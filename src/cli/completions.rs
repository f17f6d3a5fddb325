//! `kb completions`: shell completion scripts.

use super::exit::{CliResult, Exit};
use super::terminal::Terminal;

/// Print the completion script of a shell
///
/// For example: `kb completions bash > ~/.local/share/bash-completion/completions/kb`, or
/// `kb completions fish > ~/.config/fish/completions/kb.fish`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name of the shell
    shell: clap_complete::Shell,
}

/// `command` is the root of all commands.
pub(super) fn run(args: Args, mut command: clap::Command, terminal: &mut Terminal) -> CliResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "kb", &mut script);
    terminal.data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
