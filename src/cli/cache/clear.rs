//! `kb cache clear`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::bytes;
use crate::cli::terminal::Terminal;
use kb_base::value::counted;
use kb_service::service::{self, Environment};

/// Remove stored results; steps make them again
///
/// Safe while runs execute.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Steps (`STEP`, `STEP[ITEM]` or `PLAYBOOK/STEP`) or keys; all results without any
    #[arg(value_name = "STEP|KEY")]
    names: Vec<String>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let cleared = service::clear_cache(environment, &args.names)?;
    if args.json {
        terminal.json(&cleared)?
    } else {
        terminal.note(&format!(
            "removed {}, {}\n",
            counted(cleared.results, "result"),
            bytes(cleared.bytes)
        ))?
    }
    Ok(Exit::Done)
}
