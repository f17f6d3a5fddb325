use super::playbook::PlaybookCommand;
use super::run::RunCommand;
use super::schema;
use super::specialist::SpecialistCommand;
use super::terminal::Terminal;
use super::{CliResult, Exit, completions, demo, doctor, explain, init};
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Turn declarative playbooks into verified work by LLM specialists.
///
/// A playbook is a YAML file of steps: specialists (models with tools), shell commands, requests,
/// gates. `kb` runs them in parallel by what they need, writes every event to a journal, and counts
/// nothing as done until a gate has seen it on disk.
#[derive(Debug, Parser)]
#[command(name = "kb", version, max_term_width = 100, after_help = FIRST_HELP)]
#[command(disable_help_subcommand = false, subcommand_required = false)]
pub(super) struct Kb {
    /// Work as if started in this folder
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub(super) directory: Option<PathBuf>,
    #[command(subcommand)]
    pub(super) command: Option<KbCommand>,
}

const FIRST_HELP: &str = "\
Exit codes: 0 done · 1 run failed · 2 bad usage or definition · 3 waiting for people or budget · \
4 not found · 5 journal or environment unusable · 6 journal of a newer version · 130, 143 stopped \
by a signal";

#[derive(Debug, Subcommand)]
pub(super) enum KbCommand {
    Demo(demo::Args),
    Init(init::Args),
    Doctor(doctor::Args),
    /// Look at, check and run playbooks and workflows
    #[command(subcommand, visible_alias = "workflow")]
    Playbook(PlaybookCommand),
    /// Look at and check specialists: models with a role, tools and limits
    #[command(subcommand)]
    Specialist(SpecialistCommand),
    /// Look at runs, and go on with them
    #[command(subcommand, visible_alias = "runs")]
    Run(RunCommand),
    Schema(schema::Args),
    Explain(explain::Args),
    Completions(completions::Args),
}

/// What `kb` alone says.
pub(super) fn first_steps(terminal: &mut Terminal) -> CliResult {
    terminal.out(&format!(
        "kb {} turns playbooks into verified work by LLM specialists

Three things to do first:
  kb demo            see a whole run in a minute, without a model key
  kb init            make `.kb/` here: settings, two specialists, a playbook
  kb playbook run add-feature --param featureName=greeting

`kb doctor` looks at models and the place, `kb --help` lists every command
",
        env!("CARGO_PKG_VERSION")
    ))?;
    Ok(Exit::Done)
}
