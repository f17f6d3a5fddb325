//! `kb trigger …`: commands for schedules and other triggers.

mod backfill;
mod change;
mod fire;
mod list;
mod next;
mod parts;
mod publish;
mod show;
mod test;

use super::terminal::Terminal;
use crate::cli::exit::CliResult;
use clap::Subcommand;
use kb_service::service::Environment;

#[derive(Debug, Subcommand)]
pub(super) enum TriggerCommand {
    List(list::Args),
    #[command(visible_alias = "info")]
    Show(show::Args),
    Enable(change::EnableArgs),
    Disable(change::DisableArgs),
    Pause(change::PauseArgs),
    Resume(change::ResumeArgs),
    Next(next::Args),
    Fire(fire::Args),
    Backfill(backfill::Args),
    Test(test::Args),
    Publish(publish::Args),
}

pub(super) fn run(
    command: TriggerCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    match command {
        TriggerCommand::List(args) => list::run(args, environment, terminal),
        TriggerCommand::Show(args) => show::run(args, environment, terminal),
        TriggerCommand::Enable(args) => change::enable(args, environment, terminal),
        TriggerCommand::Disable(args) => change::disable(args, environment, terminal),
        TriggerCommand::Pause(args) => change::pause(args, environment, terminal),
        TriggerCommand::Resume(args) => change::resume(args, environment, terminal),
        TriggerCommand::Next(args) => next::run(args, environment, terminal),
        TriggerCommand::Fire(args) => fire::run(args, environment, terminal),
        TriggerCommand::Backfill(args) => backfill::run(args, environment, terminal),
        TriggerCommand::Test(args) => test::run(args, environment, terminal),
        TriggerCommand::Publish(args) => publish::run(args, environment, terminal),
    }
}
