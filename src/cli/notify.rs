//! `kb notify`

use super::exit::{CliResult, Exit};
use super::render::table::Table;
use super::runtime::{self, Workers};
use super::terminal::Terminal;
use kb_serve::serve;
use kb_service::service::{Environment, Project};

/// List notifications to the hooks of `notify`, or test a hook
///
/// The settings declare the hooks. `kb serve` notifies them of the runs of the project and tries again
/// if a receiver does not respond.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Tell this hook about a run that does not exist, once and now
    #[arg(long, value_name = "HOOK")]
    test: Option<String>,
    /// Number of notifications to list
    #[arg(short = 'n', long, default_value_t = 20, value_name = "N")]
    limit: u32,
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    if let Some(hook) = &args.test {
        runtime::block_on(Workers::One, serve::send_test_notification(&project, hook))??;
        terminal.out(&format!("the notification to {hook} was delivered\n"))?;
        return Ok(Exit::Done);
    }
    project.require_valid_settings()?;
    let all = serve::notifications(&project, args.limit as usize)?;
    if args.json {
        terminal.json(&all)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["TIME", "HOOK", "EVENT", "RUN", "STATE", "ATTEMPTS", "PROBLEM"]);
    for n in &all {
        let problem = n.problem.as_ref().map_or("", |problem| problem.as_str());
        let attempts = n.attempts.to_string();
        let run = n.run.as_deref().unwrap_or_default();
        table.row([&n.at, &n.hook, &n.event, run, n.state.as_str(), &attempts, problem]);
    }
    terminal.out(&table.text())?;
    let hooks = &project.catalog.settings.notify;
    if all.is_empty() && hooks.is_empty() {
        terminal.note("the settings have no hooks; `notify` declares them\n")?;
    } else if all.is_empty() {
        let names: Vec<&str> = hooks.iter().map(|hook| hook.name.as_str()).collect();
        terminal.note(&format!("no notification yet; the hooks are {}\n", names.join(", ")))?;
    }
    Ok(Exit::Done)
}
