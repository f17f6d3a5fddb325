use crate::cli::terminal::{GOOD, Terminal, paint};
use crate::cli::{CliResult, Exit};
use crate::service;

/// Write a new playbook to `.kb/playbooks/ID.yml`
///
/// Never overwrites. Templates: `basic` (shell steps), `specialist` (a model with a gate),
/// `for-each` (one instance an item), `pipeline` (fan out, join, clean up).
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The new playbook's id
    id: String,
    /// What it begins as
    #[arg(long, default_value = "basic", value_name = "NAME")]
    template: String,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let path = service::new_playbook(&service::here()?, &args.id, &args.template)?;
    terminal.out(&format!("{} {path}\n", paint(GOOD, "created")))?;
    terminal.err(&format!("next: edit it, then `kb playbook run {}`\n", args.id))?;
    Ok(Exit::Done)
}
