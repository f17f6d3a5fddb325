//! `kb run approve`

use super::replying::{DeliveryArgs, deliver};
use crate::cli::difference;
use crate::cli::exit::{CliError, CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_service::service::runs::{Decision, ProjectContext};
use kb_service::service::{self, Environment, Seen};

/// Approve a step that waits for a person
///
/// On a terminal, it shows the changes of the run first, and asks. If a process drives the run, the approval
/// is delivered to it; otherwise the run continues here until it ends or waits for a person.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    run: String,
    /// The step or item; everything that waits for an approval, if absent
    step: Option<String>,
    /// Reject instead: the step fails (`kb run reject`)
    #[arg(long)]
    deny: bool,
    /// Refuse unless this is the decision that is asked for: the digest of the arguments of a tool
    /// call, or at least its first eight characters
    #[arg(long, value_name = "DIGEST")]
    call: Option<String>,
    /// What `kb run diff` names: the changes up to it were read, and no file changed since. Without it, and without a
    /// terminal that shows them, commands after a specialist stay in the sandbox
    #[arg(long, value_name = "EVENT-DIGEST", conflicts_with = "deny")]
    seen: Option<Seen>,
    /// A remark, recorded with the approval
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    #[command(flatten)]
    delivery: DeliveryArgs,
}

/// What became of the changes about which an approval decides.
enum Read {
    /// There are none, or there is no terminal to show them.
    Nothing,
    /// They were shown and approved, if all were recorded up to this event.
    Approved(Option<Seen>),
    /// They were shown, and nothing was decided.
    Left,
}

/// Shows the changes about which an approval decides, and asks for it.
fn read(run: &str, environment: &Environment, terminal: &mut Terminal) -> Result<Read, CliError> {
    let difference = service::difference(&ProjectContext::find(environment)?, run)?;
    if difference.is_empty() && difference.seen().is_some() {
        return Ok(if terminal.can_ask() {
            Read::Approved(difference.seen())
        } else {
            Read::Nothing
        });
    }
    if !terminal.can_ask() {
        let note = format!(
            "note: commands after a specialist stay in the sandbox: `kb run diff {run}` shows the changes, and names the \
             approval that releases them\n"
        );
        terminal.note(&note)?;
        return Ok(Read::Nothing);
    }
    let mut has_more = difference::show(&difference, terminal)?;
    loop {
        match terminal.ask("approve? y, n, or d for all changes:").as_deref().map(str::trim) {
            Some("y" | "yes") if !has_more => return Ok(Read::Approved(difference.seen())),
            Some("d" | "y" | "yes") => {
                difference::show_all(&difference, terminal)?;
                has_more = false;
            }
            Some("n" | "no" | "") | None => {
                terminal.err("nothing was decided\n")?;
                return Ok(Read::Left);
            }
            Some(_) => {}
        }
    }
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let Args { run, step, deny, call, seen, comment, delivery } = args;
    let decision = if deny { Decision::Reject } else { Decision::Approve };
    let seen = match seen {
        None if !deny => match read(&run, environment, terminal)? {
            Read::Nothing => None,
            Read::Approved(seen) => seen,
            Read::Left => return Ok(Exit::Done),
        },
        seen => seen,
    };
    deliver(&run, step, decision, (comment, call), seen, delivery, (environment, terminal))
}
