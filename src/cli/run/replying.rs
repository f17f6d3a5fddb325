//! The shared part of `answer`, `approve` and `reject`: delivers a reply or continues the run with it.

use crate::cli::driving::{DisplayArgs, drive};
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use crate::cli::{CliResult, Exit};
use crate::service::Environment;
use crate::service::runs::{self, Decision, ProjectContext, Replied, ReplyRequest};

/// The name that the journal records for a reply.
pub(in crate::cli) fn replier() -> String {
    match std::env::var("USER") {
        Ok(user) if !user.is_empty() => user,
        _ => "a person at the terminal".to_owned(),
    }
}

pub(super) fn deliver(
    run: &str,
    step: Option<String>,
    decision: Decision,
    (comment, about): (Option<String>, Option<String>),
    display: DisplayArgs,
    (environment, terminal): (&Environment, &mut Terminal),
) -> CliResult {
    let context = ProjectContext::find(environment)?;
    let request = ReplyRequest { step, decision, comment, by: replier(), about };
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
