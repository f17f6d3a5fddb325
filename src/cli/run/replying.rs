//! The shared part of `answer`, `approve` and `reject`: delivers a reply or continues the run with it, until the run ends
//! or only waits for persons again.

use crate::cli::driving::{DisplayArgs, drive};
use crate::cli::exit::{CliResult, Exit};
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use kb_service::service::runs::{self, Decision, ProjectContext, Replied, ReplyRequest};
use kb_service::service::{Environment, Seen, ServiceError};

/// How a reply is delivered.
#[derive(Debug, clap::Args)]
pub(super) struct DeliveryArgs {
    /// Deliver the reply and return, also where no process drives the run; `kb run resume` then continues it
    #[arg(long)]
    no_run: bool,
    #[command(flatten)]
    display: DisplayArgs,
}

pub(super) fn deliver(
    run: &str,
    step: Option<String>,
    decision: Decision,
    (comment, about): (Option<String>, Option<String>),
    seen: Option<Seen>,
    DeliveryArgs { no_run, display }: DeliveryArgs,
    (environment, terminal): (&Environment, &mut Terminal),
) -> CliResult {
    let display = display.leaving_questions();
    let context = ProjectContext::find(environment)?;
    let request = ReplyRequest { step, decision, comment, by: environment.user(), about, seen };
    if no_run {
        let journal = context.journal(Default::default()).map_err(ServiceError::from)?;
        let now = context.clock().wall();
        runs::require_shown((&journal, &context.root), run, &request, now)?;
        let posted = runs::post_reply(&*journal, run, &request, now)?;
        let next = if posted.is_driven {
            String::new()
        } else {
            format!("; next: kb run resume {}", posted.run)
        };
        let text = format!("run {}: the reply was delivered{next}\n", posted.run);
        display.report(&text, terminal)?;
        return Ok(Exit::Done);
    }
    runtime::block_on(Workers::All, async {
        match runs::reply(context, run, request)? {
            Replied::Delivered(run) => {
                display.report(&format!("run {run}: the reply was delivered\n"), terminal)?;
                Ok(Exit::Done)
            }
            Replied::Ready(prepared) => drive(*prepared, display, "kb", terminal).await,
        }
    })?
}
