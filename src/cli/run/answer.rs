//! `kb run answer`

use super::replying::{DeliveryArgs, deliver};
use crate::cli::exit::CliResult;
use crate::cli::terminal::Terminal;
use kb_service::service::Environment;
use kb_service::service::runs::Decision;

/// Answer a question of a run
///
/// The answer is checked against the options or the schema of the question. If a process drives the
/// run, the answer is delivered to it; otherwise the run continues here until it ends or waits for a person.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    run: String,
    /// The step or item that asks
    step: String,
    /// The answer; JSON where the question has a schema
    #[arg(allow_hyphen_values = true)]
    text: String,
    /// A remark, recorded with the answer
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    #[command(flatten)]
    delivery: DeliveryArgs,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let Args { run, step, text, comment, delivery } = args;
    deliver(
        &run,
        Some(step),
        Decision::Answer(text),
        (comment, None),
        None,
        delivery,
        (environment, terminal),
    )
}
