//! `kb trigger next`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::Table;
use crate::cli::terminal::Terminal;
use clap::builder::RangedU64ValueParser;
use kb_serve::serve::{self, OccurrenceView};
use kb_service::service::{Environment, PointInTime, Project};

/// The largest number of times.
const MOST: u64 = 10_000;

/// Print the next times of a schedule, in its zone and in UTC
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id of the trigger, or of a playbook with one trigger
    #[arg(value_name = "ID")]
    id: String,
    /// Number of times
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST))]
    count: usize,
    /// Start from this time in RFC 3339 in place of now
    #[arg(long, value_name = "TIME", value_parser = crate::cli::run::since::since)]
    from: Option<PointInTime>,
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let from = args.from.map(|from| from.at(environment.clock.wall()));
    let times = serve::next_times(&project, &args.id, from, args.count)?;
    if args.json {
        terminal.json(&times)?
    } else {
        terminal.out(&table(&times))?
    }
    Ok(Exit::Done)
}

/// The times as a table.
pub(super) fn table(times: &[OccurrenceView]) -> String {
    let mut table = Table::new(["LOCAL", "UTC", ""]);
    for time in times {
        let utc = format!("{}Z", time.at.get(..16).unwrap_or(&time.at).replace('T', " "));
        table.row([time.local.as_str(), &utc, time.note.unwrap_or_default()]);
    }
    table.text()
}
