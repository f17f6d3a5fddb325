//! `kb run list`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::{Table, plain};
use crate::cli::terminal::Terminal;
use kb_base::diagnostic::Code;
use kb_base::value::format_duration;
use kb_core::wire::{ErrorView, RunView};
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, Environment, PointInTime, RunFilter, RunStatus};
use std::time::Duration;

/// List runs, newest first
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Maximum number of runs
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Only runs with this status: running, waiting, interrupted, succeeded, failed or cancelled
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Vec<RunStatus>,
    /// Only runs of this playbook or workflow
    #[arg(long, value_name = "ID", visible_alias = "definition")]
    playbook: Option<String>,
    /// Only runs that started since this time: a duration before now, such as `2d`, or a time in
    /// RFC 3339
    #[arg(long, value_name = "TIME", value_parser = super::since::since)]
    since: Option<PointInTime>,
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

/// Why the definitions or events of a run cannot be read.
fn damage(run: &RunView) -> Option<&ErrorView> {
    run.error.as_ref().filter(|error| error.code == Code::JOURNAL_UNUSABLE)
}

fn status(text: &str) -> Result<RunStatus, String> {
    RunStatus::parse(text).ok_or_else(|| {
        "expected running, waiting, interrupted, succeeded, failed or cancelled".to_owned()
    })
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let Args { limit, status, playbook, since, json } = args;
    let is_filtered = !status.is_empty() || playbook.is_some() || since.is_some();
    let since = since.map(|since| since.at(environment.clock.now()));
    let filter = RunFilter { limit, statuses: status, definition: playbook, since, before: None };
    let context = ProjectContext::find(environment)?;
    let runs = service::list_runs(&context, &filter)?;
    for damaged in service::damaged_runs(&context)? {
        terminal.err(&format!("warning: {}\n", plain(&damaged)))?;
    }
    for error in runs.iter().filter_map(|run| damage(run)) {
        terminal.err(&format!("warning: {}\n", plain(&error.message)))?;
    }
    if json {
        terminal.json(&runs)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["RUN", "STATUS", "DEFINITION", "STARTED", "TIME", "STEPS"])
        .shorten("DEFINITION");
    for run in &runs {
        let took = run.work_ms.map(|ms| format_duration(Duration::from_millis(ms)));
        let (done, all) = run.steps_done();
        let started = run.started_at.get(..19).unwrap_or(&run.started_at).replace('T', " ");
        let steps = damage(run).map_or(format!("{done}/{all}"), |_| "damaged".to_owned());
        let took = took.unwrap_or_default();
        let definition = match &run.parent {
            Some(parent) => format!("{} (child of {})", run.definition, parent.run),
            None => run.definition.clone(),
        };
        let unproven = run.unproven.map(|count| format!(", {count} unproven")).unwrap_or_default();
        let status = format!("{}{unproven}", run.status.as_str());
        table.row([run.run.as_str(), &status, &definition, &started, &took, &steps]);
    }
    terminal.out(&table.text())?;
    match (runs.is_empty(), is_filtered) {
        (true, true) => terminal.note("no run matches\n")?,
        (true, false) => terminal.note("no runs yet; `kb playbook run ID` starts one\n")?,
        (false, _) => {}
    }
    Ok(Exit::Done)
}
