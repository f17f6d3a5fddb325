//! `kb memory …`: what is remembered across runs.

mod add;
mod approve;
mod check;
mod export;
mod forget;
mod list;
mod parts;
mod reject;
mod review;
mod search;
mod show;
mod stats;

use super::exit::CliResult;
use super::terminal::Terminal;
use kb_service::service::Environment;

#[derive(Debug, clap::Subcommand)]
pub(super) enum MemoryCommand {
    List(list::Args),
    #[command(visible_alias = "info")]
    Show(show::Args),
    Search(search::Args),
    Add(add::Args),
    Review(review::Args),
    Approve(approve::Args),
    Check(check::Args),
    Reject(reject::Args),
    Forget(forget::Args),
    Export(export::Args),
    Stats(stats::Args),
}

pub(super) fn run(
    command: MemoryCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    match command {
        MemoryCommand::List(args) => list::run(&args, environment, terminal),
        MemoryCommand::Show(args) => show::run(&args, environment, terminal),
        MemoryCommand::Search(args) => search::run(&args, environment, terminal),
        MemoryCommand::Add(args) => add::run(args, environment, terminal),
        MemoryCommand::Review(args) => review::run(&args, environment, terminal),
        MemoryCommand::Approve(args) => approve::run(&args, environment, terminal),
        MemoryCommand::Check(args) => check::run(&args, environment, terminal),
        MemoryCommand::Reject(args) => reject::run(args, environment, terminal),
        MemoryCommand::Forget(args) => forget::run(&args, environment, terminal),
        MemoryCommand::Export(args) => export::run(&args, environment, terminal),
        MemoryCommand::Stats(args) => stats::run(&args, environment, terminal),
    }
}
