//! `kb run list`

use crate::cli::render::table::Table;
use crate::cli::terminal::Terminal;
use crate::cli::{CliResult, Exit};
use crate::service::runs::ProjectContext;
use crate::service::{self, Environment};
use crate::value::format_duration;
use std::time::Duration;

/// List runs, newest first
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Maximum number of runs
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let runs = service::list_runs(&ProjectContext::find(environment)?, args.limit)?;
    if args.json {
        terminal.json(&runs)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["RUN", "STATUS", "DEFINITION", "STARTED", "TIME", "STEPS"]);
    for run in &runs {
        let took = run.duration_ms.map(|ms| format_duration(Duration::from_millis(ms)));
        let done = run.counts.get("succeeded").copied().unwrap_or_default();
        let all: u32 = run.counts.values().sum();
        let started = run.started_at.get(..19).unwrap_or(&run.started_at).replace('T', " ");
        let (took, steps) = (took.unwrap_or_default(), format!("{done}/{all}"));
        table.row([
            run.run.as_str(),
            run.status.as_str(),
            &run.definition,
            &started,
            &took,
            &steps,
        ]);
    }
    terminal.out(&table.text())?;
    if runs.is_empty() {
        terminal.err("no runs yet; `kb playbook run ID` starts one\n")?;
    }
    Ok(Exit::Done)
}
