//! Commands of the author that may execute code of a specialist: whether they run in the sandbox.

use super::host_access::HostAccess;
use kb_attempt::{ChangedCode, Confined};
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_core::verify::{GitHook, executes_project_code};
use kb_language::definition::NetworkAccess;
use kb_process::Supervisor;

/// The network of a command that has to run in the sandbox; `None` for other commands.
fn network(host: &HostAccess, confined: &Confined, argv: &[String]) -> Option<NetworkAccess> {
    match confined {
        Confined::Always => Some(NetworkAccess::Loopback),
        Confined::IfCode(code) => {
            let executes = code.is_protected || executes_project_code(argv, &hooks(host, argv));
            executes.then_some(code.network)
        }
    }
}

/// The hooks that a command may run.
fn hooks(host: &HostAccess, argv: &[String]) -> Vec<GitHook> {
    if !argv.iter().any(|word| word.contains("git")) {
        return Vec::new();
    }
    let hooks = host.workspace.git_hooks().into_iter();
    hooks.map(|(name, script)| GitHook { name, script }).collect()
}

/// The variables of a command that a specialist may have prepared files for: git reads no settings of a bare
/// repository that only its directory makes known.
pub(super) fn environment(confined: Option<&Confined>) -> Vec<(String, String)> {
    let Some(Confined::IfCode(_)) = confined else { return Vec::new() };
    let setting = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "safe.bareRepository"),
        ("GIT_CONFIG_VALUE_0", "explicit"),
    ];
    setting.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

/// What starts the command of an attempt, and the network of its sandbox. Fails if the command has to
/// run in the sandbox, this machine has none, and no person approved the command.
pub(super) fn supervisor(
    host: &HostAccess,
    confined: Option<&Confined>,
    argv: &[String],
) -> Result<(Supervisor, Option<NetworkAccess>), Failure> {
    let asked = confined.and_then(|confined| Some((confined, network(host, confined, argv)?)));
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
            format!("{}, and {}", why(code), changed(code))
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
        "the command ran in the sandbox, because {} and {}. If it needs \
         more, such as `.git`, the network or files outside, put an `approve` step before it, or set \
         `sandbox: never`",
        why(code),
        changed(code)
    );
    let help = match &failure.help {
        Some(help) => format!("{help}; {reason}"),
        None => reason,
    };
    failure.help(help)
}

fn why(code: &ChangedCode) -> &'static str {
    match code.is_protected {
        true => "it may execute them",
        false => "it may execute files of the project",
    }
}

fn changed(code: &ChangedCode) -> String {
    if code.is_protected {
        return format!("step `{}` changed protected paths", code.step);
    }
    match &code.path {
        Some(path) => format!("step `{}` changed `{path}`", code.step),
        None => format!("step `{}` may have changed some", code.step),
    }
}
