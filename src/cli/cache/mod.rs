//! `kb cache …`: commands for stored results of steps.

mod clear;
mod list;
mod show;

use super::terminal::Terminal;
use crate::cli::exit::CliResult;
use clap::Subcommand;
use kb_service::service::Environment;

#[derive(Debug, Subcommand)]
pub(super) enum CacheCommand {
    List(list::Args),
    #[command(visible_alias = "info")]
    Show(show::Args),
    Clear(clear::Args),
}

pub(super) fn run(
    command: CacheCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    match command {
        CacheCommand::List(args) => list::run(&args, environment, terminal),
        CacheCommand::Show(args) => show::run(&args, environment, terminal),
        CacheCommand::Clear(args) => clear::run(&args, environment, terminal),
    }
}
