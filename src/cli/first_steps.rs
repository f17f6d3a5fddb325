//! The output of `kb` without a command.

use super::exit::{CliResult, Exit};
use super::terminal::Terminal;

/// Prints what a new user can do first.
pub(super) fn print(terminal: &mut Terminal) -> CliResult {
    terminal.out(&format!(
        "kb {} runs playbooks of LLM specialists, shell commands and checks

Get started:
  kb demo            run an example; no model key is needed
  kb init            create `.kb/` here: settings, two specialists, a playbook
  kb playbook run add-feature --param featureName=greeting

`kb doctor` checks models and the environment, `kb --help` lists all commands
",
        env!("CARGO_PKG_VERSION")
    ))?;
    Ok(Exit::Done)
}
