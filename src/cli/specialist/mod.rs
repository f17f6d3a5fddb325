//! `kb specialist …`: commands for specialists.

mod info;
mod list;
mod new;
mod validate;

use super::terminal::Terminal;
use crate::cli::exit::CliResult;
use clap::Subcommand;
use kb_service::service::Environment;

#[derive(Debug, Subcommand)]
pub(super) enum SpecialistCommand {
    List(list::Args),
    #[command(visible_alias = "show")]
    Info(info::Args),
    Validate(validate::Args),
    New(new::Args),
}

pub(super) fn run(
    command: SpecialistCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    match command {
        SpecialistCommand::List(args) => list::run(args, environment, terminal),
        SpecialistCommand::Info(args) => info::run(args, environment, terminal),
        SpecialistCommand::Validate(args) => validate::run(args, environment, terminal),
        SpecialistCommand::New(args) => new::run(args, environment, terminal),
    }
}
