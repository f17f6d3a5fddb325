//! `kb cache list`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::Table;
use crate::cli::render::{bytes, time};
use crate::cli::terminal::Terminal;
use kb_base::value::counted;
use kb_service::service::{self, Environment};

/// List stored results of steps, those that were used last first
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let all = service::list_cached(environment)?;
    if args.json {
        terminal.json(&all)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["KEY", "STEP", "RUN", "USED (UTC)", "SAVES", "FILES", "SIZE"]);
    for result in &all {
        let used = result.used_at.get(..19).unwrap_or(&result.used_at).replace('T', " ");
        table.row([
            result.key[..12].to_owned(),
            format!("{}/{}", result.definition, result.instance),
            result.run.clone(),
            used,
            time(result.saved_ms),
            result.files.to_string(),
            bytes(result.bytes),
        ]);
    }
    terminal.out(&table.text())?;
    terminal.note(&if all.is_empty() {
        "no results are stored; steps with `cache` store theirs\n".to_owned()
    } else {
        let size = all.iter().map(|result| result.bytes).sum();
        format!("{}, {}\n", counted(all.len(), "result"), bytes(size))
    })?;
    Ok(Exit::Done)
}
