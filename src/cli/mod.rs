//! The command line: parses arguments, calls `service` and prints the result.
//!
//! Each command has its own file. `render` formats output, `exit` maps errors to messages and exit
//! codes, `environment` reads the environment of the process. Data goes to stdout, everything else
//! to stderr. Start at [`main`].

mod answer_form;
mod ask_in_place;
mod asking;
mod attending;
mod backup;
mod cache;
mod completing;
mod completions;
mod demo;
mod difference;
mod doctor;
mod driving;
mod environment;
mod escape;
mod eval;
mod exit;
mod explain;
mod faq;
mod first_steps;
mod fmt;
mod goal;
mod hidden_input;
mod index;
mod init;
mod learn;
mod leaving;
mod logging;
mod lsp;
mod man;
mod mcp;
mod memory;
mod notify;
mod panics;
mod playbook;
mod plugin;
mod prompting;
mod reference;
mod render;
mod run;
mod runtime;
mod schema;
mod serve;
mod serve_token;
mod specialist;
mod templates;
mod terminal;
mod trigger;
mod usage_hint;
mod workflow_commands;

use cache::CacheCommand;
use clap::error::ContextKind;
use clap::{CommandFactory, Parser, Subcommand};
use exit::{CliResult, Exit};
use index::IndexCommand;
use kb_service::service::{Environment, Redactors};
use learn::LearnCommand;
use logging::Logging;
use mcp::McpCommand;
use memory::MemoryCommand;
use playbook::PlaybookCommand;
use plugin::PluginCommand;
use run::RunCommand;
use specialist::SpecialistCommand;
use std::path::PathBuf;
use std::process::ExitCode;
use terminal::Terminal;
use trigger::TriggerCommand;

/// Run declarative playbooks of LLM specialists, shell commands and checks.
///
/// A playbook is a YAML file of steps: specialists (models with tools), shell commands, HTTP
/// requests and gates. `kb` runs independent steps in parallel, records every event in a journal,
/// and accepts the work of a step only after its gate has verified it.
#[derive(Debug, Parser)]
#[command(name = "kb", version, max_term_width = 100, after_help = EXIT_CODES)]
#[command(disable_help_subcommand = false, subcommand_required = false)]
struct Kb {
    /// Change to this directory first
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Print results and errors only: no display of a run, no notes
    #[arg(short, long, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Option<KbCommand>,
}

const EXIT_CODES: &str = "\
Exit codes: 0 success · 1 run failed · 2 invalid usage or definition · 3 run is waiting for an \
answer or budget · 4 not found · 5 journal or environment not usable · 6 journal of a newer \
version · 130, 143 stopped by a signal";

#[derive(Debug, Subcommand)]
enum KbCommand {
    Demo(demo::Args),
    Init(init::Args),
    Do(goal::Args),
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
    /// Find parts of the project files by words
    #[command(subcommand)]
    Index(IndexCommand),
    Serve(serve::Args),
    Lsp(lsp::Args),
    /// Use tools of MCP servers, and offer playbooks and runs to other agents
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Show, add, approve and forget what is remembered across runs
    #[command(subcommand)]
    Memory(MemoryCommand),
    Faq(faq::Args),
    /// See what recorded runs say about specialists, and apply what follows
    #[command(subcommand)]
    Learn(LearnCommand),
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

/// All commands with their arguments, as markdown.
pub fn command_reference() -> String {
    reference::command_reference(Kb::command())
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    run_with(Redactors::default())
}

/// [`main`], with the list in which runs register their redactors.
pub fn run_with(redactors: Redactors) -> ExitCode {
    match completing::answer(Kb::command) {
        Ok(false) => {}
        Ok(true) => return Exit::Done.into(),
        Err(error) => error.exit(),
    }
    panics::start(redactors.clone());
    let mut terminal = Terminal::new();
    let result = match Kb::try_parse() {
        Ok(arguments) => {
            terminal.set_quiet(arguments.quiet);
            let logging = logging_of(&arguments);
            logging::start(logging, redactors.clone());
            dispatch(arguments, logging, redactors, &mut terminal)
        }
        Err(error) => usage_error(error, &mut terminal),
    };
    exit::finish(result, &mut terminal).into()
}

/// Prints help, the version or a usage error.
fn usage_error(mut error: clap::Error, terminal: &mut Terminal) -> CliResult {
    if !error.use_stderr() {
        error.print()?;
        return Ok(Exit::Done);
    }
    let words = std::env::args_os().skip(1).take(8);
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let params_of = |id: &str| playbook::parameters(id, &words);
    let hint = usage_hint::usage_hint(&error, &words, &Kb::command(), params_of);
    if hint.is_some() {
        // The parser names what is spelled alike: `lsp` for `list`.
        error.remove(ContextKind::SuggestedSubcommand);
        error.remove(ContextKind::Suggested);
    }
    // It repeats words of the command.
    terminal.err(&error.render().ansi().to_string())?;
    if let Some(hint) = hint {
        terminal.err(&format!("  help: {hint}\n"))?;
    }
    Ok(Exit::BadInput)
}

/// How a command logs: the daemon always, others if `KB_LOG` asks for it.
fn logging_of(arguments: &Kb) -> Logging {
    match &arguments.command {
        Some(KbCommand::Serve(args)) if args.is_daemon() => {
            let usual = if arguments.quiet { "kb=error" } else { "kb=info" };
            Logging::new(args.log_format, Some(usual))
        }
        _ => Logging::new(None, None),
    }
}

fn dispatch(
    arguments: Kb,
    logging: Logging,
    redactors: Redactors,
    terminal: &mut Terminal,
) -> CliResult {
    let environment = environment::of_process(arguments.directory.as_deref())?;
    let environment = Environment { redactors, ..environment };
    terminal.adapt(&environment.variables);
    match arguments.command {
        None => first_steps::print(terminal),
        Some(KbCommand::Demo(args)) => demo::run(args, &environment, terminal),
        Some(KbCommand::Init(args)) => init::run(args, &environment, terminal),
        Some(KbCommand::Do(args)) => goal::run(args, &environment, terminal),
        Some(KbCommand::Doctor(args)) => doctor::run(args, &environment, terminal),
        Some(KbCommand::Playbook(command)) => playbook::run(command, &environment, terminal),
        Some(KbCommand::Specialist(command)) => specialist::run(command, &environment, terminal),
        Some(KbCommand::Plugin(command)) => plugin::run(command, &environment, terminal),
        Some(KbCommand::Run(command)) => run::run(command, &environment, terminal),
        Some(KbCommand::Backup(args)) => backup::run(args, &environment, terminal),
        Some(KbCommand::Cache(command)) => cache::run(command, &environment, terminal),
        Some(KbCommand::Index(command)) => index::run(command, &environment, terminal),
        Some(KbCommand::Lsp(args)) => lsp::run(&args, &environment),
        Some(KbCommand::Mcp(command)) => mcp::run(command, &environment, terminal),
        Some(KbCommand::Faq(args)) => faq::run(args, &environment, terminal),
        Some(KbCommand::Memory(command)) => memory::run(command, &environment, terminal),
        Some(KbCommand::Learn(command)) => learn::run(command, &environment, terminal),
        Some(KbCommand::Serve(args)) => serve::run(args, logging.format, &environment, terminal),
        Some(KbCommand::Trigger(command)) => trigger::run(command, &environment, terminal),
        Some(KbCommand::Notify(args)) => notify::run(args, &environment, terminal),
        Some(KbCommand::Eval(args)) => eval::run(args, &environment, terminal),
        Some(KbCommand::Schema(args)) => schema::run(args, &environment, terminal),
        Some(KbCommand::Explain(args)) => explain::run(args, terminal),
        Some(KbCommand::Fmt(args)) => fmt::run(args, &environment, terminal),
        Some(KbCommand::Completions(args)) => completions::run(args, terminal),
        Some(KbCommand::Man(args)) => man::run(args, Kb::command(), &environment, terminal),
    }
}
