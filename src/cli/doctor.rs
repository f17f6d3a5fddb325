use super::runtime::{self, Workers};
use super::terminal::{ERROR, GOOD, HINT, Terminal, WARNING, paint};
use super::{CliResult, Exit};
use crate::service::{self, FindingLevel};

/// Look at the project, the state folder, models, sandbox and journal
///
/// Each line is ok, a warning or an error with the mend. Exits with 5 where one is an error.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Ask each model one real question
    #[arg(long)]
    call: bool,
    /// One JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let findings = runtime::block_on(Workers::All, service::doctor(service::here(), args.call))?;
    let bad = findings.iter().any(|finding| finding.level == FindingLevel::Error);
    if args.json {
        terminal.json(&findings)?;
    } else {
        for finding in &findings {
            let (style, word) = match finding.level {
                FindingLevel::Ok => (GOOD, "ok     "),
                FindingLevel::Warning => (WARNING, "warning"),
                FindingLevel::Error => (ERROR, "error  "),
            };
            let subject = &finding.subject;
            terminal.out(&format!(
                "{}  {subject:<10}  {}\n",
                paint(style, word),
                finding.message
            ))?;
            if let Some(help) = &finding.help {
                terminal.out(&format!("{:21}{} {help}\n", "", paint(HINT, "help:")))?;
            }
        }
    }
    Ok(if bad { Exit::Unusable } else { Exit::Done })
}
