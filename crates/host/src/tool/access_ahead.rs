//! What the paths that a definition names are for a command in the sandbox, before it runs.

use super::missing_access::{MissingAccess, Ran};
use super::opened_paths::OpenedPaths;
use super::process_launcher::ProcessLauncher;
use kb_language::definition::SandboxOpening;

/// The paths in commands of the author that the sandbox hides, and the keys of `sandbox` that open them. Empty on a machine
/// without a sandbox.
pub fn lacked_paths(
    processes: &ProcessLauncher,
    opening: &SandboxOpening,
    commands: &[Vec<String>],
) -> (Vec<String>, Vec<String>) {
    let supervisor = processes.can_confine().then(|| processes.confined(opening, Vec::new()).ok());
    let Some(supervisor) = supervisor.flatten() else { return Default::default() };
    let (cwd, root) = (processes.root(), processes.root());
    let argv: Vec<String> = commands.iter().flatten().cloned().collect();
    let ran = Ran { argv: &argv, cwd, root, network: opening.network };
    MissingAccess::ahead(&supervisor, &ran).opening()
}

/// Those of some paths to open that do not exist.
pub fn missing_paths<'p>(
    processes: &ProcessLauncher,
    paths: impl Iterator<Item = &'p String>,
) -> Vec<&'p str> {
    let opened = OpenedPaths::new(processes.workspace(), processes.unconfined());
    let is_missing = |path: &&String| opened.absolute(path).is_none_or(|path| !path.exists());
    paths.filter(is_missing).map(String::as_str).collect()
}
