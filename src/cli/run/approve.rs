//! `kb run approve`

use super::replying::deliver;
use crate::cli::driving::DisplayArgs;
use crate::cli::exit::CliResult;
use crate::cli::terminal::Terminal;
use kb_service::service::Environment;
use kb_service::service::runs::Decision;

/// Approve a step that waits for a person
///
/// If a process drives the run, the approval is delivered to it; otherwise the run continues here.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    run: String,
    /// The step or item; everything that waits for an approval, if absent
    step: Option<String>,
    /// Reject instead: the step fails (`kb run reject`)
    #[arg(long)]
    deny: bool,
    /// Refuse unless this is the decision that is asked for: the digest of the arguments of a tool
    /// call, or at least its first eight characters
    #[arg(long, value_name = "DIGEST")]
    call: Option<String>,
    /// A remark, recorded with the approval
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    #[command(flatten)]
    display: DisplayArgs,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let Args { run, step, deny, call, comment, display } = args;
    let decision = if deny { Decision::Reject } else { Decision::Approve };
    deliver(&run, step, decision, (comment, call), display, (environment, terminal))
}
