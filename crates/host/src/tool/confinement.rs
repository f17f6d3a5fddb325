//! Commands of the author in the sandbox of specialists: what starts them, and what their failure says.

use super::process_launcher::ProcessLauncher;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_language::plan::{Confined, ForeignValue, Touched};
use kb_process::Supervisor;
use std::path::PathBuf;

/// What starts a command of the author, and why it runs in the sandbox. Fails if the command has to run there, this
/// machine has none, and no person approved the command. `nested` are protected paths below the workspace.
pub(super) fn of_author(
    processes: &ProcessLauncher,
    confined: Option<Confined>,
    nested: Vec<PathBuf>,
) -> Result<(Supervisor, Option<Confined>), Failure> {
    match confined {
        None => Ok((processes.unconfined().clone(), None)),
        Some(confined) if processes.can_confine() => {
            Ok((processes.confined_author(&confined.opening(), nested)?, Some(confined)))
        }
        Some(_) if processes.is_approved() => Ok((processes.unconfined().clone(), None)),
        Some(confined) => Err(refusal(&confined)),
    }
}

fn refusal(confined: &Confined) -> Failure {
    let why = why(confined);
    let message =
        format!("this command needs the sandbox, which this machine does not have: {why}");
    let help = "read the changes with `kb run diff`, then approve the command with `--yes` \
                (`kb run retry @last --from STEP --yes`), or set `sandbox: never` in the step";
    Failure::new(Code::NEEDS_APPROVAL, message).help(help)
}

/// Adds to the failure of a command of the author in the sandbox what it lacked, and why it was there.
pub(crate) fn explained(failure: Failure, missing: Option<String>, confined: &Confined) -> Failure {
    let opened = match missing {
        Some(_) => "",
        None => "`sandbox: {network: open, read: [PATH], write: [PATH]}` opens what it needs; ",
    };
    let released = match confined {
        Confined::Touched(_) => "an `approve` step before it, or `sandbox: never`, releases it",
        Confined::Always { .. } | Confined::Value(_) => "`sandbox: never` releases it",
    };
    let why = why(confined);
    let reason = format!("the command ran in the sandbox, because {why}; {opened}{released}");
    let parts = [missing, failure.help.clone(), Some(reason)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    failure.help(parts.join(". "))
}

fn why(confined: &Confined) -> String {
    match confined {
        Confined::Always { .. } => "`sandbox` in the step or in the settings says so".to_owned(),
        Confined::Touched(touched @ Touched { path: Some(path), .. }) => {
            format!("{} changed `{path}`", touched.place())
        }
        Confined::Touched(touched @ Touched { path: None, .. }) => {
            format!("{} could write to the project", touched.place())
        }
        Confined::Value(ForeignValue::Output(step)) => {
            format!("it reads the output of step `{step}`, which the author did not write")
        }
        Confined::Value(ForeignValue::Param(name)) => {
            format!("it reads the parameter `{name}`, which the payload of a trigger filled")
        }
        Confined::Value(ForeignValue::Secret(name)) => {
            format!(
                "it reads the secret `{name}`, whose command names a file that models could write"
            )
        }
    }
}
