//! Commands of the author that may execute code of a specialist: whether they run in the sandbox.

use super::host_access::HostAccess;
use crate::attempt::{ChangedCode, Confined};
use crate::definition::NetworkAccess;
use crate::diagnostic::Code;
use crate::process::Supervisor;
use crate::value::Failure;
use crate::verify::executes_project_code;

/// The network of a command that has to run in the sandbox; `None` for other commands.
fn network(confined: &Confined, argv: &[String]) -> Option<NetworkAccess> {
    match confined {
        Confined::Always => Some(NetworkAccess::Loopback),
        Confined::IfCode(code) => executes_project_code(argv).then_some(code.network),
    }
}

/// What starts the command of an attempt, and the network of its sandbox. Fails if the command has to
/// run in the sandbox, this machine has none, and no person approved the command.
pub(super) fn supervisor(
    host: &HostAccess,
    confined: Option<&Confined>,
    argv: &[String],
) -> Result<(Supervisor, Option<NetworkAccess>), Failure> {
    let asked = confined.and_then(|confined| Some((confined, network(confined, argv)?)));
    match asked {
        None => Ok((host.processes.unconfined().clone(), None)),
        Some((_, network)) if host.processes.can_confine() => {
            Ok((host.processes.confined(network), Some(network)))
        }
        Some(_) if host.approved => Ok((host.processes.unconfined().clone(), None)),
        Some((confined, _)) => Err(refusal(confined)),
    }
}

fn refusal(confined: &Confined) -> Failure {
    let why = match confined {
        Confined::Always => "the step has `sandbox: always`".to_owned(),
        Confined::IfCode(code) => {
            format!("it executes files of the project, and {}", changed(code))
        }
    };
    let message =
        format!("this command needs the sandbox, which this machine does not have: {why}");
    let help = "read the changes with `kb run diff`, then approve the command with `--yes` \
                (`kb run retry @last --from STEP --yes`), or set `sandbox: never` in the step";
    Failure::new(Code::NEEDS_APPROVAL, message).help(help)
}

/// Adds to the failure of a confined command why it was confined.
pub(super) fn explained(failure: Failure, confined: Option<&Confined>) -> Failure {
    let Some(Confined::IfCode(code)) = confined else { return failure };
    let reason = format!(
        "the command ran in the sandbox, because it executes files of the project and {}. If it needs \
         more, such as `.git`, the network or files outside, put an `approve` step before it, or set \
         `sandbox: never`",
        changed(code)
    );
    let help = match &failure.help {
        Some(help) => format!("{help}; {reason}"),
        None => reason,
    };
    failure.help(help)
}

fn changed(code: &ChangedCode) -> String {
    match &code.path {
        Some(path) => format!("step `{}` changed `{path}`", code.step),
        None => format!("step `{}` may have changed some", code.step),
    }
}
