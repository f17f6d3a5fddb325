//! `kb playbook validate`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::diagnostics;
use crate::cli::render::table::Table;
use crate::cli::terminal::{GOOD, Terminal, paint};
use kb_base::value::counted;
use kb_service::service::{self, Environment, Project};

/// Check definitions and report all problems
///
/// Without ids, checks all definitions and tests of the project. With ids, also lists the steps of the author whose commands will
/// run in the sandbox, with the reason. Exits with 2 if there is an error.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Ids or paths of playbooks
    #[arg(value_name = "ID|PATH")]
    ids: Vec<String>,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    /// Print a JSON list of problems
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = match args.ids.first() {
        Some(first) => Project::find_or_file(environment, first)?,
        None => Project::find(environment)?,
    };
    // Once for both reports below: files that are named and belong to no folder are loaded with the project.
    let project = project.with_named(&args.ids.iter().map(String::as_str).collect::<Vec<_>>())?;
    let report = service::validate_playbooks(&project, &args.ids)?;
    let bad = report.has_errors() || (args.strict && report.has_warnings());
    if args.json {
        terminal.json(&report.views())?;
    } else {
        diagnostics::print(&report.diagnostics, &report.sources, terminal)?;
        if !bad {
            let what = counted(report.checked, "definition");
            terminal.out(&format!("{} {what}\n", paint(GOOD, "valid:")))?;
            terminal.out(&sandboxed(&project, &args.ids)?)?;
        }
    }
    Ok(if bad { Exit::BadInput } else { Exit::Done })
}

/// The steps whose commands will run in the sandbox, with the reason.
fn sandboxed(project: &Project, ids: &[String]) -> Result<String, service::ServiceError> {
    let mut table = Table::bare();
    for id in ids.iter().filter(|id| project.script_at(id).is_none()) {
        for step in service::show_playbook(project, id)?.steps {
            let children = step.children.iter().map(|child| (&child.step, &child.sandbox));
            for (step, causes) in std::iter::once((&step.id, &step.sandbox)).chain(children) {
                if let Some(causes) = service::ConfinedAhead::line(causes) {
                    table.row(["", step, "in the sandbox:", &causes]);
                }
            }
        }
    }
    Ok(table.text())
}
