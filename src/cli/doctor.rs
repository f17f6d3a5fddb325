//! `kb doctor`: checks of the project and the environment.

use super::exit::{CliError, CliResult, Exit};
use super::render::table::plain;
use super::runtime::{self, Workers};
use super::terminal::{ERROR, GOOD, HINT, Terminal, WARNING, paint};
use kb_base::value::counted;
use kb_service::service::runs::{ProjectContext, ProtectedChanges};
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
    /// Trust the owner of the project, if it is another user: what is in it decides what `kb` executes
    #[arg(long)]
    trust: bool,
    /// Show the changes of protected paths by commands, and accept them: a terminal asks, or the digest of these changes
    /// is given
    #[arg(long, value_name = "DIGEST", num_args = 0..=1, default_missing_value = "")]
    accept: Option<String>,
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    if args.trust {
        let (root, owners) = service::trust_owners(environment)?;
        let owners: Vec<String> = owners.iter().map(u32::to_string).collect();
        let (root, owners) = (root.display().to_string(), owners.join(", "));
        terminal.err(&format!("trusts the owner of `{}` ({owners})\n", plain(&root)))?;
    }
    let project = Project::find(environment);
    if let (Some(old), Ok(project)) = (&args.adopt, &project) {
        let service::Adopted { from, runs } = service::adopt(&project.context, old)?;
        let runs = counted(runs, "run");
        terminal.err(&format!("adopted {runs} of `{}`\n", from.display()))?;
    }
    if let (Some(digest), Ok(project)) = (&args.accept, &project) {
        accept(&project.context, digest, terminal)?;
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
                plain(&finding.message)
            ))?;
            if let Some(help) = &finding.help {
                let help = plain(help);
                terminal.out(&format!("{:21}{} {help}\n", "", paint(HINT, "help:")))?;
            }
        }
    }
    Ok(if has_errors { Exit::Unusable } else { Exit::Done })
}

/// Accepts what commands changed of protected paths, if a person says so after it was shown.
fn accept(context: &ProjectContext, digest: &str, terminal: &mut Terminal) -> Result<(), CliError> {
    let changes = ProtectedChanges::of(context)?;
    let mut count = 0;
    let mut last = None;
    for (run, step, change) in changes.list() {
        if last != Some((run, step)) {
            terminal.err(&format!("step `{step}` of run `{run}`\n"))?;
            last = Some((run, step));
        }
        terminal.err(&format!("  {}  {}\n", plain(&change.path()), change.described()))?;
        count += 1;
    }
    if count == 0 {
        terminal.err("no command changed protected paths\n")?;
        return Ok(());
    }
    let count = counted(count, "change");
    let own = changes.digest();
    let accepts = if digest.is_empty() && terminal.can_ask() {
        let answer = terminal.ask(&format!("accept {count}? y or n:"));
        matches!(answer.as_deref().map(str::trim), Some("y" | "yes"))
    } else {
        digest == own
    };
    if !accepts {
        let message = format!("{count} not accepted");
        let help = Some(format!("`kb doctor --accept {own}` accepts exactly these"));
        return Err(CliError::Usage { message, help });
    }
    changes.accept(context)?;
    terminal.err(&format!("accepted {count}\n"))?;
    Ok(())
}
