//! `kb run audit`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::brief_args;
use crate::cli::render::table::{Table, plain};
use crate::cli::terminal::Terminal;
use kb_core::wire::{InvocationStatus, REPORTED};
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, AuditedCall, Environment};

/// List every tool call of a run with its level and who permitted it
///
/// Denied and rejected calls are listed too. The list comes from the journal; `kb run verify` checks
/// that the journal was not changed.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    #[arg(default_value = "@last", hide_default_value = true)]
    run: String,
    /// Only calls that were denied, rejected or approved by a person
    #[arg(long)]
    decided: bool,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let context = ProjectContext::find(environment)?;
    let mut calls = service::audited_calls(&context, &args.run)?;
    if args.decided {
        calls.retain(|call| call.decided_by.is_some() || is_denied(call));
    }
    if args.json {
        terminal.json(&calls)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["call", "tool", "level", "status", "permitted by", "arguments"]);
    for call in &calls {
        let place = format!("{}#{} {}", call.instance, call.attempt.unwrap_or(0), call.id);
        table.row([
            plain(&place),
            plain(&call.tool),
            call.level.map_or("unknown", |level| level.as_str()).to_owned(),
            call.status.map_or("no result", InvocationStatus::as_str).to_owned(),
            plain(&permitted_by(call)),
            brief_args(call.args.as_ref()),
        ]);
    }
    terminal.out(&table.text())?;
    if calls.is_empty() {
        terminal.note("note: the run has no such tool call\n")?;
    }
    Ok(Exit::Done)
}

fn is_denied(call: &AuditedCall) -> bool {
    call.status == Some(InvocationStatus::Denied)
}

/// The person, the author of the playbook, or the rules.
fn permitted_by(call: &AuditedCall) -> String {
    match (&call.decided_by, call.approved, call.code) {
        (Some(person), Some(true), _) => format!("{person} approved it"),
        (Some(person), _, _) => format!("{person} rejected it"),
        (None, _, Some(code)) if is_denied(call) => format!("no rule ({code})"),
        (None, ..) if call.tool.starts_with(REPORTED) => "the agent itself".to_owned(),
        (None, ..) if call.by_model => "the rules".to_owned(),
        (None, ..) => "the playbook".to_owned(),
    }
}
