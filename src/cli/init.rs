//! `kb init`: a new project.

use super::exit::{CliError, CliResult, Exit};
use super::terminal::{DIM, GOOD, Terminal, paint};
use kb_serve::serve;
use kb_service::service::{self, Environment};
use std::path::Path;

/// Create `.kb/` with settings, two specialists, a playbook and a demonstration
///
/// Existing files are not changed. The demonstration is a playbook with an enabled schedule: `kb serve --open`
/// starts it at once, without a model key, and later at the times of the schedule.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder of the project; by default the working directory
    #[arg(value_name = "DIR", default_value = ".")]
    folder: std::path::PathBuf,
    /// Leave out the playbook that demonstrates `kb serve`
    #[arg(long)]
    no_demo: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let result = service::init(environment, &args.folder, !args.no_demo)?;
    if let Some(id) = result.demo {
        enable(environment, &args.folder, id, terminal)?;
    }
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
    if let Some(id) = result.demo {
        terminal.note(&format!(
            "\ntry: `kb serve --open` runs the playbook `{id}` at once, without a model, and then at nine on weekdays; `kb trigger disable {id}` ends it\n"
        ))?;
    }
    terminal.note("\nnext: `kb doctor` checks the models, `kb playbook plan add-feature --param featureName=x` shows the plan\n")?;
    Ok(Exit::Done)
}

/// Enables the schedule of the demonstration, which this command has just written, and asks for its first run. A state folder that cannot
/// be used does not fail the command: `kb trigger enable` remains.
fn enable(
    environment: &Environment,
    folder: &Path,
    id: &str,
    terminal: &mut Terminal,
) -> Result<(), CliError> {
    let cwd = environment.absolute(folder);
    let environment = Environment { cwd, ..environment.clone() };
    let started = service::Project::find(&environment).and_then(|project| {
        serve::enable(&project, id, None)?;
        serve::fire(&project, id, &serde_json::Value::Null)
    });
    match started {
        Ok(_) => Ok(()),
        Err(error) => Ok(terminal.note(&format!("the demonstration is not enabled: {error}\n"))?),
    }
}
