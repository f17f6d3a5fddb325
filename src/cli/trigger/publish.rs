//! `kb trigger publish`

use super::parts::{note_daemon, payload};
use crate::cli::exit::CliError;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_base::value::RunId;
use kb_serve::serve;
use kb_service::service::{Environment, Project};
use std::path::PathBuf;

/// Send a message to the triggers of a topic
///
/// In a step, the message gets the idempotency key of the step as its id, so that a step that runs again
/// sends it once.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Topic of the message; it starts the playbooks with this topic in `on.message`
    #[arg(value_name = "TOPIC")]
    topic: String,
    /// JSON file with the message
    #[arg(long, value_name = "FILE")]
    payload: Option<PathBuf>,
    /// Id of the message; a topic takes a message with the same id once
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let body = payload(environment, args.payload.as_ref())?;
    if !serve::is_topic(&args.topic) {
        return Err(CliError::Usage {
            message: format!("`{}` cannot be a topic", args.topic),
            help: Some("use letters, digits, `.`, `_`, `-` and `/`, at most 128".to_owned()),
        });
    }
    let now = environment.clock.wall();
    let variable = |name: &str| environment.variables.get(name).cloned();
    let id = args.id.or_else(|| variable("KB_IDEMPOTENCY_KEY"));
    let id = id.unwrap_or_else(|| format!("{}-{}", now.0, std::process::id()));
    let run = variable("KB_RUN").and_then(|run| RunId::new(run).ok());
    let new = serve::publish(&project, &args.topic, &id, &body, run.as_ref(), now)?;
    if !new {
        terminal.note(&format!("`{}` has a message with the id `{id}` already\n", args.topic))?;
    }
    note_daemon(&project, terminal)?;
    Ok(Exit::Done)
}
