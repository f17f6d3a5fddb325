//! Validates definitions and reports all problems at once.

use super::claim_hints::claim_hints;
use super::early_hints::{playbook_hints, settings_hints, specialist_hints};
use super::runs::read_task_files;
use super::sandbox_hints::sandbox_hints;
use super::testing::problems_of_tests;
use super::{Project, ResourceKind, ServiceError};
use kb_base::diagnostic::{Diagnostic, Severity, Sources};
use kb_core::wire;
use kb_language::definition::Specialist;
use std::collections::BTreeSet;

/// The result of a validation.
#[derive(Debug, Clone)]
pub struct Report {
    /// All problems, sorted by file and position.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that the problems point into.
    pub sources: Sources,
    /// Number of valid definitions.
    pub checked: usize,
}

impl Report {
    /// Whether there is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Whether there is a warning.
    pub fn has_warnings(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Warning)
    }

    /// The JSON form.
    pub fn views(&self) -> Vec<wire::Problem> {
        self.diagnostics.iter().map(|d| wire::Problem::of(d, &self.sources)).collect()
    }
}

/// Validates playbooks and workflows and the specialists that they use; without names, all
/// definitions of the project.
pub fn validate_playbooks(project: &Project, names: &[String]) -> Result<Report, ServiceError> {
    let named: Vec<&str> = names.iter().map(String::as_str).collect();
    let project = project.with_named(&named)?;
    if names.is_empty() {
        return Ok(everything(&project));
    }
    let mut diagnostics = Vec::new();
    let mut paths: BTreeSet<String> =
        project.settings_paths().into_iter().map(str::to_owned).collect();
    let mut checked = 0;
    for name in names {
        if let Some(script) = project.script_at(name) {
            checked +=
                usize::from(!project.diagnostics_of(&[&script]).iter().any(Diagnostic::is_error));
            paths.insert(script);
            continue;
        }
        let playbook = match project.playbook(name) {
            Ok(playbook) => playbook,
            Err(ServiceError::Definitions { diagnostics: own, .. }) => {
                diagnostics.extend(own);
                continue;
            }
            Err(other) => return Err(other),
        };
        let (plan, problems) = project.plan_of(&playbook);
        let missing = read_task_files(&playbook, &project.context.root).err().unwrap_or_default();
        checked += usize::from(plan.is_some() && missing.is_empty());
        diagnostics.extend(problems.into_iter().chain(missing));
        diagnostics.extend(playbook_hints(&playbook, project.clock().now()));
        diagnostics.extend(plan.iter().flat_map(|plan| sandbox_hints(&project, plan)));
        let specialists = plan.iter().flat_map(|plan| plan.iter());
        let specialists = specialists.filter_map(|(_, step)| step.specialist.as_ref());
        diagnostics.extend(specialists.flat_map(|own| hints_of(own, &project)));
        paths.extend(project.catalog.files_of(&playbook));
    }
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    diagnostics.extend(project.diagnostics_of(&paths).into_iter().chain(settings_hints(&project)));
    Ok(report(project.sources().clone(), diagnostics, checked))
}

/// Validates specialists and agent profiles; without names, all of the project.
pub fn validate_specialists(project: &Project, names: &[String]) -> Result<Report, ServiceError> {
    let named: Vec<&str> = names.iter().map(String::as_str).collect();
    let project = project.with_named(&named)?;
    let mut diagnostics = Vec::new();
    let mut checked = 0;
    if names.is_empty() {
        checked = project.catalog.specialists.len();
        let files = project.files.iter().filter(|file| is_specialist(file));
        let paths: Vec<&str> = files.map(|file| file.path.as_str()).collect();
        diagnostics.extend(project.diagnostics_of(&paths));
        diagnostics.extend(hints_of_all(&project));
    }
    for name in names {
        let all = &project.catalog.specialists;
        let clean = all.get(name.as_str()).or_else(|| {
            let ends = |path: &str| path == name || name.ends_with(&format!("/{path}"));
            all.values().find(|specialist| ends(&specialist.path))
        });
        match (clean, project.broken(name)) {
            (Some(specialist), _) => {
                checked += 1;
                diagnostics.extend(project.diagnostics_of(&[&specialist.path]));
                diagnostics.extend(claim_hints(specialist, project.sources()));
            }
            (None, Some(ServiceError::Definitions { diagnostics: own, .. })) => {
                diagnostics.extend(own);
            }
            (None, _) => {
                let known = all.keys().map(ToString::to_string);
                return Err(ServiceError::unknown(ResourceKind::Specialist, name, known));
            }
        }
    }
    Ok(report(project.sources().clone(), diagnostics, checked))
}

fn is_specialist(file: &kb_language::definition::InputFile) -> bool {
    use kb_language::definition::FileRole::{AgentProfile, Specialist};
    matches!(file.role, Specialist | AgentProfile)
}

fn hints_of(specialist: &Specialist, project: &Project) -> Vec<Diagnostic> {
    let mut hints = claim_hints(specialist, project.sources());
    hints.extend(specialist_hints(specialist, project));
    hints
}

fn hints_of_all(project: &Project) -> Vec<Diagnostic> {
    let all = project.catalog.specialists.values();
    all.flat_map(|specialist| hints_of(specialist, project)).collect()
}

fn everything(project: &Project) -> Report {
    let mut diagnostics = project.diagnostics.clone();
    diagnostics.extend(hints_of_all(project));
    diagnostics.extend(settings_hints(project));
    let mut checked = project.catalog.specialists.len() + project.catalog.plugins.len();
    for playbook in project.catalog.playbooks.values() {
        let (plan, problems) = project.plan_of(playbook);
        let missing = read_task_files(playbook, &project.context.root).err().unwrap_or_default();
        checked += usize::from(plan.is_some() && missing.is_empty());
        diagnostics.extend(problems.into_iter().chain(missing));
        diagnostics.extend(playbook_hints(playbook, project.clock().now()));
        diagnostics.extend(plan.iter().flat_map(|plan| sandbox_hints(project, plan)));
    }
    let mut sources = project.sources().clone();
    diagnostics.extend(problems_of_tests(project, &mut sources));
    report(sources, diagnostics, checked)
}

/// Sorts problems by file and position and removes duplicates: many definitions can use one
/// specialist.
fn report(sources: Sources, diagnostics: Vec<Diagnostic>, checked: usize) -> Report {
    let path = |d: &Diagnostic| d.span.map(|span| sources.get(span.source).path.clone());
    let mut sorted: Vec<Diagnostic> = Vec::new();
    for diagnostic in diagnostics {
        if !sorted.contains(&diagnostic) {
            sorted.push(diagnostic);
        }
    }
    sorted.sort_by_key(|d| (path(d), d.span.map(|span| span.start)));
    Report { diagnostics: sorted, sources, checked }
}
