//! `kb plugin test`

use crate::cli::exit::{CliError, CliResult, Exit};
use crate::cli::render::table::plain;
use crate::cli::runtime::{Workers, block_on};
use crate::cli::terminal::{DIM, Terminal, paint};
use kb_base::value::Json;
use kb_service::service::{self, Environment, PluginTest, Project};

/// Call a plugin without a run
///
/// Runs the program in the sandbox, checks its output and runs its probes. Exits with 1 if the call
/// fails.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id of the plugin
    id: String,
    /// Arguments as JSON
    #[arg(long, value_name = "JSON", default_value = "{}")]
    input: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let input = input_of(&args.input)?;
    let test = block_on(Workers::One, service::test_plugin(&project, &args.id, input))??;
    called(&test, args.json, terminal)
}

/// The arguments of a call from the command line.
pub(in crate::cli) fn input_of(text: &str) -> Result<Json, CliError> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("`--input` is not JSON: {error}");
        let help = Some("write a JSON object such as `'{\"path\": \"a.txt\"}'`".to_owned());
        CliError::Usage { message, help }
    })
}

/// Shows the result of a call without a run.
pub(in crate::cli) fn called(test: &PluginTest, json: bool, terminal: &mut Terminal) -> CliResult {
    let exit = if test.succeeded() { Exit::Done } else { Exit::RunFailed };
    if json {
        terminal.json(test)?;
        return Ok(exit);
    }
    match &test.failure {
        Some(failure) => {
            let code = failure.code.as_str();
            terminal.err(&format!("error[{code}]: {}\n", plain(&failure.message)))?;
            if let Some(help) = &failure.help {
                terminal.err(&format!("  help: {}\n", plain(help)))?;
            }
        }
        None => terminal.json(&test.result)?,
    }
    terminal.note(&notes(test))?;
    Ok(exit)
}

/// Probes, changed files and the duration.
fn notes(test: &PluginTest) -> String {
    let probes = test.probes().map(|evidence| format!("probe {}\n", plain(&evidence.reference)));
    let changed = test.changed.iter().take(20).map(|path| format!("changed {}\n", plain(path)));
    let lines: String = probes.chain(changed).collect();
    format!("{lines}{}\n", paint(DIM, &format!("{} ms", test.duration_ms)))
}
