//! The shared part of `answer`, `approve` and `reject`: delivers a reply or continues the run with it.

use crate::cli::driving::{DisplayArgs, drive};
use crate::cli::exit::{CliResult, Exit};
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use kb_service::service::Environment;
use kb_service::service::runs::{self, Decision, ProjectContext, Replied, ReplyRequest};

pub(super) fn deliver(
    run: &str,
    step: Option<String>,
    decision: Decision,
    (comment, about): (Option<String>, Option<String>),
    seen: Option<u64>,
    display: DisplayArgs,
    (environment, terminal): (&Environment, &mut Terminal),
) -> CliResult {
    let context = ProjectContext::find(environment)?;
    let request = ReplyRequest { step, decision, comment, by: environment.user(), about, seen };
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
