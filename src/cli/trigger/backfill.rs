//! `kb trigger backfill`

use super::parts::note_daemon;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_base::value::counted;
use kb_serve::serve;
use kb_service::service::{Environment, PointInTime, Project};

/// Start runs for past times of a schedule that have none
///
/// Without `--yes`, lists the times and starts nothing.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id of the trigger, or of a playbook with one trigger
    #[arg(value_name = "ID")]
    id: String,
    /// First time: a duration before now, such as `2d`, or a time in RFC 3339
    #[arg(long, value_name = "TIME", value_parser = crate::cli::run::since::since)]
    from: PointInTime,
    /// Last time; by default now
    #[arg(long, value_name = "TIME", value_parser = crate::cli::run::since::since)]
    to: Option<PointInTime>,
    /// Queue the runs
    #[arg(long)]
    yes: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let now = environment.clock.wall();
    let from = args.from.at(now);
    let to = args.to.map_or(now, |to| to.at(now));
    let found = if args.yes {
        serve::backfill(&project, &args.id, from, to)?
    } else {
        serve::backfill_times(&project, &args.id, from, to)?
    };
    if args.json {
        terminal.json(&found)?;
        return Ok(Exit::Done);
    }
    terminal.out(&super::next::table(&found.times))?;
    let count = counted(found.times.len(), "run");
    let fired = match found.fired {
        0 => String::new(),
        fired => format!("; {} fired already", counted(fired, "time")),
    };
    if args.yes {
        terminal.note(&format!("queued {count}{fired}\n"))?
    } else {
        terminal.note(&format!("would start {count}{fired}; `--yes` starts them\n"))?
    }
    if args.yes {
        note_daemon(&project, terminal)?;
    }
    Ok(Exit::Done)
}
