//! What `answer`, `approve` and `reject` share: delivering a reply, or continuing the run with it.

use crate::cli::driving::{DisplayArgs, drive};
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use crate::cli::{CliResult, Exit};
use crate::service;
use crate::service::runs::{self, Decision, Replied, ReplyRequest};

/// Who replies, as the journal records it.
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
    comment: Option<String>,
    display: DisplayArgs,
    terminal: &mut Terminal,
) -> CliResult {
    let context = service::context_here()?;
    let request = ReplyRequest { step, decision, comment, by: replier() };
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
