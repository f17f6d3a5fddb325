//! `kb specialist …`: models with a role, tools and limits.

mod info;
mod list;
mod new;
mod validate;

use super::CliResult;
use super::terminal::Terminal;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    List(list::Args),
    #[command(visible_alias = "show")]
    Info(info::Args),
    Validate(validate::Args),
    New(new::Args),
}

pub(super) fn run(command: Command, terminal: &mut Terminal) -> CliResult {
    match command {
        Command::List(args) => list::run(args, terminal),
        Command::Info(args) => info::run(args, terminal),
        Command::Validate(args) => validate::run(args, terminal),
        Command::New(args) => new::run(args, terminal),
    }
}
