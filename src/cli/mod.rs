//! What people type and see: one file a command, `render` for how it looks, `exit` for how it ends.
//!
//! Reads arguments, asks `service`, prints. Must never decide what a use case means: no definition is
//! read, no plan made and no run driven here. Data goes to stdout, everything else to stderr.

mod arguments;
mod completions;
mod demo;
mod doctor;
mod driving;
mod exit;
mod explain;
mod init;
mod logging;
mod panics;
mod playbook;
mod prompting;
mod render;
mod run;
mod runtime;
mod schema;
mod specialist;
mod terminal;

use arguments::{Kb, KbCommand};
use clap::Parser;
use exit::{CliError, Exit};
use std::process::ExitCode;
use terminal::Terminal;

/// What a command gives back: how the process ends, or why the command could not be carried out.
type CliResult = Result<Exit, CliError>;

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    panics::start();
    let mut terminal = Terminal::new();
    let result = match Kb::try_parse() {
        Ok(arguments) => {
            logging::start();
            dispatch(arguments, &mut terminal)
        }
        Err(error) => unparsed(&error, &mut terminal),
    };
    exit::finish(result, &mut terminal).into()
}

/// Help and version are no errors; everything else is bad usage.
fn unparsed(error: &clap::Error, terminal: &mut Terminal) -> CliResult {
    error.print()?;
    if !error.use_stderr() {
        return Ok(Exit::Done);
    }
    let words = std::env::args_os().skip(1).take(2);
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let is_unknown = error.kind() == clap::error::ErrorKind::InvalidSubcommand;
    if let ([first, second], true) = (words.as_slice(), is_unknown)
        && first == "run"
    {
        terminal.err(&format!(
            "\n`kb run` is about runs that are there; `kb playbook run {second}` makes one\n"
        ))?;
    }
    Ok(Exit::BadInput)
}

fn dispatch(arguments: Kb, terminal: &mut Terminal) -> CliResult {
    if let Some(folder) = &arguments.directory {
        std::env::set_current_dir(folder).map_err(|e| CliError::directory(folder, &e))?;
    }
    match arguments.command {
        None => arguments::first_steps(terminal),
        Some(KbCommand::Demo(args)) => demo::run(args, terminal),
        Some(KbCommand::Init(args)) => init::run(args, terminal),
        Some(KbCommand::Doctor(args)) => doctor::run(args, terminal),
        Some(KbCommand::Playbook(command)) => playbook::run(command, terminal),
        Some(KbCommand::Specialist(command)) => specialist::run(command, terminal),
        Some(KbCommand::Run(command)) => run::run(command, terminal),
        Some(KbCommand::Schema(args)) => schema::run(args, terminal),
        Some(KbCommand::Explain(args)) => explain::run(args, terminal),
        Some(KbCommand::Completions(args)) => completions::run(args, terminal),
    }
}
