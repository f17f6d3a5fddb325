//! `kb completions`: shell completion scripts.

use super::completing::VARIABLE;
use super::exit::{CliResult, Exit};
use super::terminal::Terminal;
use clap_complete::env::Shells;

/// Print the completion script of a shell
///
/// The script asks `kb` for the words that fit: commands, options, and the ids of playbooks, runs, steps,
/// specialists and triggers of the project. Load it where the shell starts, for example in `~/.bashrc`:
/// `source <(kb completions bash)`, in `~/.zshrc`: `source <(kb completions zsh)`, for fish:
/// `kb completions fish > ~/.config/fish/completions/kb.fish`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name of the shell
    shell: clap_complete::Shell,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    if let Some(shell) = shells.completer(&args.shell.to_string()) {
        shell.write_registration(VARIABLE, "kb", "kb", "kb", &mut script)?;
    }
    terminal.data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
