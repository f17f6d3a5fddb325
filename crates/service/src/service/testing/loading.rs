//! Finds the test files of a project and checks them against its playbooks.

use super::report::{LoadedTests, PlaybookTest};
use crate::project::test_files;
use crate::service::start_request::read_file;
use crate::service::{Project, ServiceError};
use kb_base::diagnostic::{Code, Diagnostic, Sources, Span, nearest};
use kb_base::value::AttemptName;
use kb_language::definition::{self, FaultKind, TestCase, TestScript};
use kb_language::plan::Plan;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The tests of a project: those of all its test files, or of the playbooks and test files that `names`
/// lists. All problems of the test files are reported at once.
pub fn load_tests(project: &Project, names: &[String]) -> Result<LoadedTests, ServiceError> {
    let environment = &project.context.environment;
    let is_file = |name: &&String| name.ends_with(".yml") || name.ends_with(".yaml");
    let (paths, ids): (Vec<&String>, Vec<&String>) = names.iter().partition(is_file);
    for id in &ids {
        project.playbook(id)?;
    }
    let mut texts = Vec::new();
    if paths.is_empty() {
        texts = texts_of(project).collect::<Result<_, _>>()?;
    }
    for path in paths {
        let path = Path::new(path);
        let (_, bytes) = read_file(environment, path)?;
        texts.push((shown(project, &environment.absolute(path)), bytes));
    }
    let mut loaded = LoadedTests::default();
    let mut diagnostics = Vec::new();
    for (path, bytes) in texts {
        let (cases, found) = checked(project, &path, &bytes, &mut loaded.sources);
        diagnostics.extend(found);
        for case in cases {
            if ids.is_empty() || ids.iter().any(|id| **id == case.playbook.value) {
                loaded.tests.push(Arc::new(PlaybookTest { file: path.clone(), case }));
            }
        }
    }
    if diagnostics.iter().any(Diagnostic::is_error) {
        let sources = Box::new(loaded.sources);
        return Err(ServiceError::Definitions { diagnostics, sources });
    }
    Ok(loaded)
}

/// The problems of all test files of a project; their texts are added to `sources`.
pub(in crate::service) fn problems_of_tests(
    project: &Project,
    sources: &mut Sources,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for text in texts_of(project) {
        match text {
            Ok((path, bytes)) => found.extend(checked(project, &path, &bytes, sources).1),
            Err(error) => {
                found.push(Diagnostic::error(Code::FILE_UNREADABLE, None, error.to_string()));
            }
        }
    }
    found
}

/// The test files of a project with their texts.
fn texts_of(
    project: &Project,
) -> impl Iterator<Item = Result<(String, Vec<u8>), ServiceError>> + '_ {
    let environment = &project.context.environment;
    let files = test_files(&project.context.root).into_iter();
    files.map(move |path| Ok((shown(project, &path), read_file(environment, &path)?.1)))
}

/// The tests of a file, and what is wrong in it or does not fit the playbooks of the project.
fn checked(
    project: &Project,
    path: &str,
    bytes: &[u8],
    sources: &mut Sources,
) -> (Vec<TestCase>, Vec<Diagnostic>) {
    let (file, mut found) = definition::load_tests(path, bytes, sources);
    let cases = file.map(|file| file.tests).unwrap_or_default();
    found.extend(cases.iter().flat_map(|case| check(project, case)));
    (cases, found)
}

fn shown(project: &Project, path: &Path) -> String {
    let inside = path.strip_prefix(&project.context.root).unwrap_or(path);
    inside.to_string_lossy().into_owned()
}

/// Names of a test that the project does not have.
fn check(project: &Project, case: &TestCase) -> Vec<Diagnostic> {
    let unknown = |kind: &str, code: Code, name: &str, span: Span, known: &BTreeSet<String>| {
        let message = format!("there is no {kind} `{name}`");
        let help = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                format!("available: {}", known.iter().cloned().collect::<Vec<_>>().join(", "))
            }
        };
        Diagnostic::error(code, span, message).help(help)
    };
    let name = &case.playbook;
    let catalog = &project.catalog;
    if let Err(ServiceError::Unknown { .. }) = project.playbook(&name.value) {
        let known = catalog.playbooks.keys().map(ToString::to_string).collect();
        return vec![unknown("playbook", Code::TEST_PLAYBOOK, &name.value, name.span, &known)];
    }
    // A playbook with errors is reported when the test runs.
    let Ok(plan) = project.plan(&name.value) else { return Vec::new() };
    let own = ids(&plan);
    let all: BTreeSet<String> = plan.with_children().into_iter().flat_map(ids).collect();
    let expect = &case.expect;
    let interrupt = case.interrupt_after.iter().map(|name| (&name.value, name.span, &own));
    let faults = case.faults.iter().map(|fault| {
        let known = match fault.kind {
            FaultKind::Model { .. } | FaultKind::Tool { .. } => &all,
            FaultKind::Kill | FaultKind::DiskFull => &own,
        };
        (&fault.step.value, fault.step.span, known)
    });
    let steps = expect.steps.iter().map(|(name, found)| (name, found.span, &own));
    let attempts = expect.attempts.iter().map(|(name, found)| (name, found.span, &own));
    let verdicts = expect.verdicts.iter().map(|(name, found)| (name, found.span, &own));
    let errors = expect.errors.iter().map(|(name, found)| (name, found.span, &own));
    let errors = errors.filter(|(name, ..)| *name != "run");
    let outputs = expect.step_outputs.iter().map(|(name, found)| (name, found.span, &own));
    let used = interrupt.chain(faults).chain(steps).chain(attempts);
    let used = used.chain(verdicts).chain(errors).chain(outputs);
    let step = |name: &str| name.split('[').next().unwrap_or(name).to_owned();
    let mut found: Vec<Diagnostic> = used
        .filter(|(name, _, known)| !known.contains(&step(name)))
        .map(|(name, span, known)| unknown("step", Code::UNKNOWN_STEP, &step(name), span, known))
        .collect();
    let scripted = case.script.iter().flat_map(|script| match script {
        TestScript::Text { names, .. } => names.as_slice(),
        TestScript::File(_) => &[],
    });
    // A step of a child run may have the steps above it before its name; without them, it is that of any run.
    let attempts = scripted.map(|name| (&name.value, name.span));
    let attempts = attempts.chain(case.stubs.iter().map(|(name, stub)| (name, stub.span)));
    let answers = case.answers.iter().map(|(name, reply)| (name, reply.span));
    for (name, span) in attempts.chain(answers) {
        let name = AttemptName::of(name);
        let mut at: Vec<&Plan> = Vec::new();
        for (i, step) in name.steps().enumerate() {
            let below: BTreeSet<String> = at.iter().flat_map(|plan| ids(plan)).collect();
            let known = if i == 0 { &all } else { &below };
            if !known.contains(step) {
                found.push(unknown("step", Code::UNKNOWN_STEP, step, span, known));
                break;
            }
            let plans = if i == 0 { plan.with_children() } else { at };
            let steps = plans.iter().flat_map(|plan| plan.steps());
            let called = steps.filter(|planned| planned.step.id.as_str() == step);
            at = called.filter_map(|planned| planned.child()).map(|child| &**child).collect();
        }
    }
    found
}

/// The ids of the steps of a plan.
fn ids(plan: &Plan) -> BTreeSet<String> {
    plan.steps().iter().map(|step| step.step.id.to_string()).collect()
}
