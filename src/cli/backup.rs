//! `kb backup`

use super::exit::{CliResult, Exit};
use super::render::bytes;
use super::terminal::Terminal;
use kb_base::value::counted;
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, Environment};
use std::path::PathBuf;

/// Write the journal, its large values, the state of triggers and the memory to a file
///
/// The file is a consistent copy, also while runs execute. `--restore` creates the state folder of a
/// project from it, with its triggers paused.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file to write; it must not exist
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Read the file in place of writing it; the project must have no journal
    #[arg(long)]
    restore: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let context = ProjectContext::find(environment)?;
    if args.restore {
        let restored = service::restore(&context, &args.file)?;
        if args.json {
            terminal.json(&restored)?;
            return Ok(Exit::Done);
        }
        let found = restored.backup;
        print("restored", found.runs, found.blob_bytes, terminal)?;
        if restored.paused_triggers > 0 {
            let triggers = counted(restored.paused_triggers, "trigger");
            terminal.note(&format!(
                "paused {triggers}: see that nothing else serves this project, then `kb trigger resume --all`\n"
            ))?;
        }
        return Ok(Exit::Done);
    }
    let found = service::back_up(&context, &args.file)?;
    if args.json {
        terminal.json(&found)?;
        return Ok(Exit::Done);
    }
    print("saved", found.runs, found.blob_bytes, terminal)?;
    Ok(Exit::Done)
}

fn print(verb: &str, runs: usize, large: u64, terminal: &mut Terminal) -> std::io::Result<()> {
    terminal.out(&format!("{verb} {} and {} of large values\n", counted(runs, "run"), bytes(large)))
}
