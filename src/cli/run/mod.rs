//! `kb run …`: look at runs, and go on with them.

mod answer;
mod approve;
mod cancel;
mod diff;
mod events;
mod list;
mod logs;
mod output;
mod reject;
pub(super) mod replying;
mod resume;
mod retry;
mod show;
mod verify;

use super::CliResult;
use super::terminal::Terminal;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(super) enum RunCommand {
    List(list::Args),
    Show(show::Args),
    Logs(logs::Args),
    Events(events::Args),
    Output(output::Args),
    Diff(diff::Args),
    Verify(verify::Args),
    Resume(resume::Args),
    Retry(retry::Args),
    Cancel(cancel::Args),
    Answer(answer::Args),
    Approve(approve::Args),
    Reject(reject::Args),
}

pub(super) fn run(command: RunCommand, terminal: &mut Terminal) -> CliResult {
    match command {
        RunCommand::List(args) => list::run(args, terminal),
        RunCommand::Show(args) => show::run(args, terminal),
        RunCommand::Logs(args) => logs::run(args, terminal),
        RunCommand::Events(args) => events::run(args, terminal),
        RunCommand::Output(args) => output::run(args, terminal),
        RunCommand::Diff(args) => diff::run(args, terminal),
        RunCommand::Verify(args) => verify::run(args, terminal),
        RunCommand::Resume(args) => resume::run(args, terminal),
        RunCommand::Retry(args) => retry::run(args, terminal),
        RunCommand::Cancel(args) => cancel::run(args, terminal),
        RunCommand::Answer(args) => answer::run(args, terminal),
        RunCommand::Approve(args) => approve::run(args, terminal),
        RunCommand::Reject(args) => reject::run(args, terminal),
    }
}
