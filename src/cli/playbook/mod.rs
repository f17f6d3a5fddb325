//! `kb playbook …`: commands for playbooks and workflows.

mod choosing;
mod graph;
mod import;
pub(super) mod keep_report;
mod list;
mod matching;
mod new;
mod plan;
mod rerunning;
mod run;
mod show;
mod test;
mod validate;
mod warnings;

use super::terminal::Terminal;
use crate::cli::exit::CliResult;
use clap::Subcommand;
use kb_service::service::Environment;

pub(super) use run::{OverrideArgs, ParamArgs, dollars, program_for};
pub(super) use show::parameters;

#[derive(Debug, Subcommand)]
pub(super) enum PlaybookCommand {
    List(list::Args),
    #[command(visible_alias = "info")]
    Show(show::Args),
    Validate(validate::Args),
    Graph(graph::Args),
    Plan(plan::Args),
    Run(run::Args),
    Test(test::Args),
    New(new::Args),
    Match(matching::Args),
    Import(import::Args),
}

pub(super) fn run(
    command: PlaybookCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    match command {
        PlaybookCommand::List(args) => list::run(args, environment, terminal),
        PlaybookCommand::Show(args) => show::run(args, environment, terminal),
        PlaybookCommand::Validate(args) => validate::run(args, environment, terminal),
        PlaybookCommand::Graph(args) => graph::run(args, environment, terminal),
        PlaybookCommand::Plan(args) => plan::run(args, environment, terminal),
        PlaybookCommand::Run(args) => run::run(args, environment, terminal),
        PlaybookCommand::Test(args) => test::run(args, environment, terminal),
        PlaybookCommand::New(args) => new::run(args, environment, terminal),
        PlaybookCommand::Match(args) => matching::run(args, environment, terminal),
        PlaybookCommand::Import(args) => import::run(args, environment, terminal),
    }
}
