//! What decides whether the result of an import is written.

use super::Project;
use super::runs::read_task_files;
use crate::project::ProjectFolder;
use kb_base::diagnostic::Diagnostic;
use kb_language::definition::{InputFile, Playbook, Settings, Step};
use kb_process::BaseEnvironment;
use std::collections::BTreeSet;

/// The project with new definitions, and what validation says of these and did not say of the project before.
pub(super) fn checked(
    project: &Project,
    known: &[InputFile],
    made: &[InputFile],
) -> (Project, Vec<Diagnostic>) {
    let with = |files: Vec<InputFile>| {
        let folder = ProjectFolder::at(&project.context.root);
        Project::of_files(folder, &project.context.environment, files)
    };
    let after = with(known.iter().chain(made).cloned().collect());
    let path = |project: &Project, d: &Diagnostic| {
        d.span.map(|span| project.sources().get(span.source).path.to_string())
    };
    let is_made = |path: &str| made.iter().any(|file| file.path == path);
    let mut found = after.diagnostics.clone();
    for playbook in after.catalog.playbooks.values().filter(|own| is_made(&own.path)) {
        let (_, problems) = after.plan_of(playbook);
        let missing = read_task_files(playbook, &after.context.root).err().unwrap_or_default();
        found.extend(problems.into_iter().chain(missing));
    }
    let is_own = |d: &Diagnostic| path(&after, d).is_some_and(|path| is_made(&path));
    let (mut own, others): (Vec<_>, Vec<_>) = found.into_iter().partition(is_own);
    if others.iter().any(Diagnostic::is_error) {
        let before = with(known.to_vec());
        let key = |project: &Project, d: &Diagnostic| (path(project, d), d.message.clone());
        let old: BTreeSet<_> = before.diagnostics.iter().map(|d| key(&before, d)).collect();
        let is_new = |d: &Diagnostic| d.is_error() && !old.contains(&key(&after, d));
        own.extend(others.into_iter().filter(is_new));
    }
    (after, own)
}

/// Whether nothing that is declared gives a variable to the processes of a step.
pub(super) fn is_missing(
    name: &str,
    step: &Step,
    playbook: &Playbook,
    settings: &Settings,
) -> bool {
    let mut declared = step.details().env.iter().chain(&playbook.env).map(|(name, _)| name);
    !BaseEnvironment::provides(name)
        && !settings.env.pass.iter().any(|passed| passed == name)
        && !declared.any(|declared| declared == name)
}
