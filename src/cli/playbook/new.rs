//! `kb playbook new`

use crate::cli::terminal::{GOOD, Terminal, paint};
use crate::cli::{CliResult, Exit};
use crate::service::{self, Environment, Project};

/// Create a playbook in `.kb/playbooks/ID.yml` from a template
///
/// An existing file is not overwritten. Templates: `basic` (shell steps), `specialist` (a model with
/// a gate), `for-each` (one instance for each item), `pipeline` (fan-out, join, cleanup).
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id of the new playbook
    id: String,
    /// Name of the template
    #[arg(long, default_value = "basic", value_name = "NAME")]
    template: String,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let path = service::new_playbook(&project, &args.id, &args.template)?;
    terminal.out(&format!("{} {path}\n", paint(GOOD, "created")))?;
    terminal.note(&format!("next: edit it, then run `kb playbook run {}`\n", args.id))?;
    Ok(Exit::Done)
}
