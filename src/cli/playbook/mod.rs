//! `kb playbook …`: definitions, from looking at them to running them.

mod graph;
mod import;
mod list;
mod matching;
mod new;
mod plan;
mod run;
mod show;
mod validate;

use super::CliResult;
use super::exit::CliError;
use super::render::diagnostics;
use super::terminal::Terminal;
use crate::service;
use clap::Subcommand;

pub(super) use run::OverrideArgs;

#[derive(Debug, Subcommand)]
pub(super) enum PlaybookCommand {
    List(list::Args),
    Show(show::Args),
    Validate(validate::Args),
    Graph(graph::Args),
    Plan(plan::Args),
    Run(run::Args),
    New(new::Args),
    Match(matching::Args),
    Import(import::Args),
}

pub(super) fn run(command: PlaybookCommand, terminal: &mut Terminal) -> CliResult {
    match command {
        PlaybookCommand::List(args) => list::run(args, terminal),
        PlaybookCommand::Show(args) => show::run(args, terminal),
        PlaybookCommand::Validate(args) => validate::run(args, terminal),
        PlaybookCommand::Graph(args) => graph::run(args, terminal),
        PlaybookCommand::Plan(args) => plan::run(args, terminal),
        PlaybookCommand::Run(args) => run::run(args, terminal),
        PlaybookCommand::New(args) => new::run(args, terminal),
        PlaybookCommand::Match(args) => matching::run(args, terminal),
        PlaybookCommand::Import(args) => import::run(args, terminal),
    }
}

/// Says what of a definition runs, but probably not as meant.
fn warn(project: &service::Project, id: &str, terminal: &mut Terminal) -> Result<(), CliError> {
    let report = service::validate_playbooks(project, &[id.to_owned()])?;
    Ok(diagnostics::print_warnings(&report.diagnostics, &report.sources, terminal)?)
}
