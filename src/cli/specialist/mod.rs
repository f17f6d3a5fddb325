//! `kb specialist …`: models with a role, tools and limits.

mod info;
mod list;
mod new;
mod validate;

use super::CliResult;
use super::terminal::Terminal;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(super) enum SpecialistCommand {
    List(list::Args),
    #[command(visible_alias = "show")]
    Info(info::Args),
    Validate(validate::Args),
    New(new::Args),
}

pub(super) fn run(command: SpecialistCommand, terminal: &mut Terminal) -> CliResult {
    match command {
        SpecialistCommand::List(args) => list::run(args, terminal),
        SpecialistCommand::Info(args) => info::run(args, terminal),
        SpecialistCommand::Validate(args) => validate::run(args, terminal),
        SpecialistCommand::New(args) => new::run(args, terminal),
    }
}
