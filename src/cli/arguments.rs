//! The arguments of `kb` and its top-level commands.

use super::cache::CacheCommand;
use super::exit::{CliResult, Exit};
use super::playbook::PlaybookCommand;
use super::plugin::PluginCommand;
use super::run::RunCommand;
use super::schema;
use super::specialist::SpecialistCommand;
use super::terminal::Terminal;
use super::trigger::TriggerCommand;
use super::{backup, completions, demo, doctor, eval, explain, fmt, init, lsp, man, notify, serve};
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Run declarative playbooks of LLM specialists, shell commands and checks.
///
/// A playbook is a YAML file of steps: specialists (models with tools), shell commands, HTTP
/// requests and gates. `kb` runs independent steps in parallel, records every event in a journal,
/// and accepts the work of a step only after its gate has verified it.
#[derive(Debug, Parser)]
#[command(name = "kb", version, max_term_width = 100, after_help = EXIT_CODES)]
#[command(disable_help_subcommand = false, subcommand_required = false)]
pub(super) struct Kb {
    /// Change to this directory first
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub(super) directory: Option<PathBuf>,
    /// Print results and errors only: no display of a run, no notes
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,
    #[command(subcommand)]
    pub(super) command: Option<KbCommand>,
}

const EXIT_CODES: &str = "\
Exit codes: 0 success · 1 run failed · 2 invalid usage or definition · 3 run is waiting for an \
answer or budget · 4 not found · 5 journal or environment not usable · 6 journal of a newer \
version · 130, 143 stopped by a signal";

#[derive(Debug, Subcommand)]
pub(super) enum KbCommand {
    Demo(demo::Args),
    Init(init::Args),
    Doctor(doctor::Args),
    /// List, check, plan and run playbooks and workflows
    #[command(subcommand, visible_alias = "workflow")]
    Playbook(PlaybookCommand),
    /// List, check and create specialists
    #[command(subcommand)]
    Specialist(SpecialistCommand),
    /// List and call plugins: the tools that the project defines
    #[command(subcommand, visible_alias = "plugins")]
    Plugin(PluginCommand),
    /// List, inspect and continue runs
    #[command(subcommand, visible_alias = "runs")]
    Run(RunCommand),
    /// List, explain and remove stored results of steps with `cache`
    #[command(subcommand)]
    Cache(CacheCommand),
    Serve(serve::Args),
    Lsp(lsp::Args),
    /// List, enable, pause and fire triggers
    #[command(subcommand, visible_alias = "triggers")]
    Trigger(TriggerCommand),
    Notify(notify::Args),
    Eval(eval::Args),
    Backup(backup::Args),
    Schema(schema::Args),
    Explain(explain::Args),
    Fmt(fmt::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// The output of `kb` without a command.
pub(super) fn first_steps(terminal: &mut Terminal) -> CliResult {
    terminal.out(&format!(
        "kb {} runs playbooks of LLM specialists, shell commands and checks

Get started:
  kb demo            run an example; no model key is needed
  kb init            create `.kb/` here: settings, two specialists, a playbook
  kb playbook run add-feature --param featureName=greeting

`kb doctor` checks models and the environment, `kb --help` lists all commands
",
        env!("CARGO_PKG_VERSION")
    ))?;
    Ok(Exit::Done)
}
