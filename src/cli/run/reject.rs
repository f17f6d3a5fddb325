//! `kb run reject`

use super::replying::{DeliveryArgs, deliver};
use crate::cli::exit::CliResult;
use crate::cli::terminal::Terminal;
use kb_service::service::Environment;
use kb_service::service::runs::Decision;

/// Reject a step that waits for an approval or an answer; the step fails
///
/// If a process drives the run, the rejection is delivered to it; otherwise the run continues here until it ends or waits
/// for a person.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    run: String,
    /// The step or item
    step: String,
    /// The reason, recorded and shown as the step's error
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    #[command(flatten)]
    delivery: DeliveryArgs,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let Args { run, step, comment, delivery } = args;
    deliver(
        &run,
        Some(step),
        Decision::Reject,
        (comment, None),
        None,
        delivery,
        (environment, terminal),
    )
}
