//! `kb learn show`

use super::runs::RUNS;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::Table;
use crate::cli::render::time;
use crate::cli::terminal::Terminal;
use kb_base::value::counted;
use kb_service::service::{self, Environment, Learned};

/// Show how often the work of each specialist was accepted, what it cost and how long it took
///
/// It is computed from the recorded runs by specialist, kind of task and tier. Bounds are those of a 95 % interval: few
/// attempts say little. Runs whose record does not verify, and runs with a script, do not count.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// How many of the newest runs are read
    #[arg(long, value_name = "N", default_value_t = RUNS)]
    runs: usize,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let learned = service::learned(environment, args.runs)?;
    terminal.result(args.json, &learned, || text(&learned))?;
    if !args.json {
        terminal.note(&counts(&learned))?;
    }
    Ok(Exit::Done)
}

/// How many runs count, and how many do not.
pub(super) fn counts(learned: &Learned) -> String {
    let Learned { runs, unverified, scripted, .. } = learned;
    let mut text = format!("{} counted", counted(*runs, "run"));
    if *unverified > 0 {
        text += &format!(", {unverified} whose record does not verify left out");
    }
    if *scripted > 0 {
        text += &format!(", {scripted} with a script left out");
    }
    text + "\n"
}

fn text(learned: &Learned) -> String {
    let head = ["specialist", "kind", "tier", "accepted", "bounds", "rework", "cost", "median"];
    let mut table = Table::new(head);
    for row in &learned.rows {
        let (accepted, rework) = (row.accepted, row.rework);
        table.row([
            row.specialist.clone(),
            row.kind.as_str().to_owned(),
            row.tier.unwrap_or("named").to_owned(),
            format!("{} of {}", accepted.of, accepted.all),
            format!("{:.0}–{:.0} %", accepted.lower * 100.0, accepted.upper * 100.0),
            format!("{} of {}", rework.of, rework.all),
            row.cost_usd.map_or_else(|| "unknown".to_owned(), |cost| format!("${cost:.4}")),
            time(row.median_ms),
        ]);
    }
    if learned.rows.is_empty() { String::new() } else { table.text() }
}
