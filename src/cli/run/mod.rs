//! `kb run …`: look at runs, and go on with them.

mod approve;
mod cancel;
mod diff;
mod events;
mod list;
mod logs;
mod output;
mod resume;
mod retry;
mod show;
mod verify;

use super::CliResult;
use super::terminal::Terminal;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
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
    Approve(approve::Args),
}

pub(super) fn run(command: Command, terminal: &mut Terminal) -> CliResult {
    match command {
        Command::List(args) => list::run(args, terminal),
        Command::Show(args) => show::run(args, terminal),
        Command::Logs(args) => logs::run(args, terminal),
        Command::Events(args) => events::run(args, terminal),
        Command::Output(args) => output::run(args, terminal),
        Command::Diff(args) => diff::run(args, terminal),
        Command::Verify(args) => verify::run(args, terminal),
        Command::Resume(args) => resume::run(args, terminal),
        Command::Retry(args) => retry::run(args, terminal),
        Command::Cancel(args) => cancel::run(args, terminal),
        Command::Approve(args) => approve::run(args, terminal),
    }
}
