//! `kb eval`

use super::exit::{CliResult, Exit};
use super::terminal::Terminal;
use kb_base::value::Json;
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, Environment, EvalRequest};

/// Evaluate an expression with the values of a run
///
/// The values are those after the last event of the run. Secrets evaluate to their masks. Text is
/// printed as it is, other values as JSON.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  kb eval '{{ build.output.files | length }}'
  kb eval 'item.name' --step 'deploy[eu]' --run r4sxdmre")]
pub(super) struct Args {
    /// Text with placeholders, or an expression without braces
    #[arg(value_name = "EXPRESSION")]
    text: String,
    /// Run id, a unique prefix of it, or @last
    #[arg(long, value_name = "RUN", default_value = "@last")]
    run: String,
    /// Step or item whose names can be read: `item`, `index`, `loop` and its `env`
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
    /// Print JSON for text values too
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let Args { text, run, step, json } = args;
    let context = ProjectContext::find(environment)?;
    match service::evaluate(&context, &EvalRequest { text, run, step })? {
        Json::String(text) if !json => terminal.data(&format!("{text}\n"))?,
        value => terminal.json(&value)?,
    }
    Ok(Exit::Done)
}
