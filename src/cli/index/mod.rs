//! `kb index …`: commands for the index of the project files.

mod query;
mod rebuild;
mod status;
mod summary;

use super::terminal::Terminal;
use crate::cli::exit::CliResult;
use clap::Subcommand;
use kb_service::service::Environment;

#[derive(Debug, Subcommand)]
pub(super) enum IndexCommand {
    Status(status::Args),
    Rebuild(rebuild::Args),
    Query(query::Args),
}

pub(super) fn run(
    command: IndexCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    match command {
        IndexCommand::Status(args) => status::run(&args, environment, terminal),
        IndexCommand::Rebuild(args) => rebuild::run(&args, environment, terminal),
        IndexCommand::Query(args) => query::run(&args, environment, terminal),
    }
}
