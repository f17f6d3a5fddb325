//! `kb plugin …`: commands for plugins.

mod info;
mod list;
mod test;

use super::terminal::Terminal;
use crate::cli::exit::CliResult;
use clap::Subcommand;
use kb_service::service::Environment;
pub(in crate::cli) use test::{called, input_of};

#[derive(Debug, Subcommand)]
pub(super) enum PluginCommand {
    List(list::Args),
    #[command(visible_alias = "show")]
    Info(info::Args),
    Test(test::Args),
}

pub(super) fn run(
    command: PluginCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    match command {
        PluginCommand::List(args) => list::run(args, environment, terminal),
        PluginCommand::Info(args) => info::run(args, environment, terminal),
        PluginCommand::Test(args) => test::run(args, environment, terminal),
    }
}
