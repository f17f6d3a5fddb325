//! `kb run …`: commands for existing runs.

mod answer;
mod approve;
mod audit;
mod cancel;
mod diff;
mod events;
mod folded;
mod list;
mod logs;
mod output;
mod prune;
mod reject;
mod replying;
mod resume;
mod retry;
mod session;
mod show;
pub(super) mod since;
mod trace;
mod verify;
mod watch;

pub(super) use diff::{diff_text, named_diffs};

use super::terminal::Terminal;
use crate::cli::exit::CliResult;
use clap::Subcommand;
use kb_service::service::Environment;

#[derive(Debug, Subcommand)]
pub(super) enum RunCommand {
    List(list::Args),
    #[command(visible_alias = "info")]
    Show(show::Args),
    Watch(watch::Args),
    Logs(logs::Args),
    Events(events::Args),
    Output(output::Args),
    Diff(diff::Args),
    Verify(verify::Args),
    Audit(audit::Args),
    Session(session::Args),
    Trace(trace::Args),
    Resume(resume::Args),
    Retry(retry::Args),
    Cancel(cancel::Args),
    Answer(answer::Args),
    Approve(approve::Args),
    Reject(reject::Args),
    Prune(prune::Args),
}

pub(super) fn run(
    command: RunCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    let result = match command {
        RunCommand::List(args) => list::run(args, environment, terminal),
        RunCommand::Show(args) => show::run(args, environment, terminal),
        RunCommand::Watch(args) => watch::run(args, environment, terminal),
        RunCommand::Logs(args) => logs::run(args, environment, terminal),
        RunCommand::Events(args) => events::run(args, environment, terminal),
        RunCommand::Output(args) => output::run(args, environment, terminal),
        RunCommand::Diff(args) => diff::run(args, environment, terminal),
        RunCommand::Audit(args) => audit::run(args, environment, terminal),
        RunCommand::Session(args) => session::run(args, environment, terminal),
        RunCommand::Trace(args) => trace::run(args, environment, terminal),
        RunCommand::Verify(args) => verify::run(args, environment, terminal),
        RunCommand::Resume(args) => resume::run(args, environment, terminal),
        RunCommand::Retry(args) => retry::run(args, environment, terminal),
        RunCommand::Cancel(args) => cancel::run(args, environment, terminal),
        RunCommand::Answer(args) => answer::run(args, environment, terminal),
        RunCommand::Approve(args) => approve::run(args, environment, terminal),
        RunCommand::Prune(args) => prune::run(args, environment, terminal),
        RunCommand::Reject(args) => reject::run(args, environment, terminal),
    };
    result.map_err(|error| error.in_project(environment))
}
