//! `kb learn …`: what recorded runs say about specialists.

mod apply;
mod runs;
mod show;
mod suggest;

use super::exit::CliResult;
use super::terminal::Terminal;
use kb_service::service::Environment;

#[derive(Debug, clap::Subcommand)]
pub(super) enum LearnCommand {
    #[command(visible_alias = "info")]
    Show(show::Args),
    Suggest(suggest::Args),
    Apply(apply::Args),
}

pub(super) fn run(
    command: LearnCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    match command {
        LearnCommand::Show(args) => show::run(&args, environment, terminal),
        LearnCommand::Suggest(args) => suggest::run(&args, environment, terminal),
        LearnCommand::Apply(args) => apply::run(&args, environment, terminal),
    }
}
