//! `kb doctor`: checks of the project and the environment.

use super::exit::{CliResult, Exit};
use super::runtime::{self, Workers};
use super::terminal::{ERROR, GOOD, HINT, Terminal, WARNING, paint};
use kb_base::value::counted;
use kb_service::service::{self, Environment, FindingLevel, Project};
use std::path::PathBuf;

/// Check the project, state folder, journal, sandbox and models
///
/// Each line is ok, a warning or an error with its fix. Exits with 5 if there is an error.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Send one request to each model
    #[arg(long)]
    call: bool,
    /// After the project was moved: take over the runs that were recorded in its former folder
    #[arg(long, value_name = "OLD_FOLDER")]
    adopt: Option<PathBuf>,
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment);
    if let (Some(old), Ok(project)) = (&args.adopt, &project) {
        let service::Adopted { from, runs } = service::adopt(&project.context, old)?;
        let runs = counted(runs, "run");
        terminal.err(&format!("adopted {runs} of `{}`\n", from.display()))?;
    }
    let findings = runtime::block_on(Workers::All, service::doctor(project, args.call))?;
    let has_errors = findings.iter().any(|finding| finding.level == FindingLevel::Error);
    if args.json {
        terminal.json(&findings)?;
    } else {
        for finding in &findings {
            let (style, level) = match finding.level {
                FindingLevel::Ok => (GOOD, "ok     "),
                FindingLevel::Warning => (WARNING, "warning"),
                FindingLevel::Error => (ERROR, "error  "),
            };
            let subject = &finding.subject;
            terminal.out(&format!(
                "{}  {subject:<10}  {}\n",
                paint(style, level),
                finding.message
            ))?;
            if let Some(help) = &finding.help {
                terminal.out(&format!("{:21}{} {help}\n", "", paint(HINT, "help:")))?;
            }
        }
    }
    Ok(if has_errors { Exit::Unusable } else { Exit::Done })
}
