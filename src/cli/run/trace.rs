//! `kb run trace`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, Environment};

/// Print a run as a trace of OpenTelemetry (OTLP/JSON)
///
/// The trace has a span for the run and for each step, attempt, model call and tool call, and no prompts, arguments
/// or outputs. `serve.traces` of the settings sends it to a collector when a run has ended.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    run: String,
    /// The attribute `service.name`
    #[arg(long, value_name = "NAME", default_value = "kb")]
    service: String,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let context = ProjectContext::find(environment)?;
    terminal.json(&service::run_trace(&context, &args.run, &args.service)?)?;
    Ok(Exit::Done)
}
