//! Tests of playbooks (`kb playbook test`): each test runs a playbook in a new project folder with a
//! state folder of its own, and compares the result with what the test expects.
//!
//! [`load_tests`] finds and checks the test files of a project; [`run_tests`] runs them in parallel.

mod compare;
mod expectations;
mod folder;
mod loading;
mod playing;
mod snapshot;

use super::Project;
use crate::clock;
use crate::definition::TestCase;
use crate::diagnostic::{Code, Diagnostic, Sources};
use crate::wire::Problem;
use futures::StreamExt;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use loading::load_tests;

/// The tests of a project.
#[derive(Debug, Clone, Default)]
pub struct LoadedTests {
    /// The texts of the test files.
    pub sources: Sources,
    /// The tests, in the order of the files.
    pub tests: Vec<Arc<PlaybookTest>>,
}

/// A test with its file.
#[derive(Debug, Clone)]
pub struct PlaybookTest {
    /// Path of the file, relative to the project root if it is inside.
    pub file: String,
    /// The test.
    pub case: TestCase,
}

impl PlaybookTest {
    /// The name with which the test is shown and selected: playbook and name.
    pub fn title(&self) -> String {
        format!("{}: {}", self.case.playbook.value, self.case.name.value)
    }
}

/// How tests are run.
#[derive(Debug, Clone, Copy)]
pub struct TestOptions {
    /// Maximum number of tests that run at the same time.
    pub jobs: usize,
    /// Whether snapshots are written instead of compared.
    pub update: bool,
    /// Whether the folders of failed tests are kept.
    pub keep: bool,
}

/// The result of a test.
#[derive(Debug, Clone)]
pub struct TestReport {
    /// The test.
    pub test: Arc<PlaybookTest>,
    /// Duration of the test.
    pub duration: Duration,
    /// What differs from the expected result; empty if the test passed.
    pub problems: Vec<Diagnostic>,
    /// Snapshot that was written.
    pub updated: Option<String>,
    /// The folder of a failed test, if it was kept.
    pub folder: Option<PathBuf>,
}

/// The JSON form of a result.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestReportView {
    /// Id of the playbook.
    pub playbook: String,
    /// Name of the test.
    pub name: String,
    /// Path of the test file.
    pub file: String,
    /// Whether the test passed.
    pub passed: bool,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// What differs from the expected result.
    pub problems: Vec<Problem>,
    /// Snapshot that was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated: Option<String>,
    /// The folder of a failed test, if it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

impl TestReport {
    /// Whether the run had the expected result.
    pub fn passed(&self) -> bool {
        self.problems.is_empty()
    }

    /// The JSON form.
    pub fn view(&self, sources: &Sources) -> TestReportView {
        TestReportView {
            playbook: self.test.case.playbook.value.clone(),
            name: self.test.case.name.value.clone(),
            file: self.test.file.clone(),
            passed: self.passed(),
            duration_ms: self.duration.as_millis() as u64,
            problems: self.problems.iter().map(|found| Problem::of(found, sources)).collect(),
            updated: self.updated.clone(),
            folder: self.folder.as_ref().map(|folder| folder.display().to_string()),
        }
    }
}

/// Runs tests in parallel. `ended` receives each result at once; the results are returned in the order
/// of the tests.
pub async fn run_tests(
    project: &Project,
    tests: &LoadedTests,
    options: TestOptions,
    ended: &mut dyn FnMut(&TestReport),
) -> Vec<TestReport> {
    let project = Arc::new(project.clone());
    let runs = tests.tests.iter().enumerate().map(|(index, test)| {
        let (project, test) = (project.clone(), test.clone());
        async move {
            let running = tokio::spawn(run_test(project, test.clone(), options));
            let report = running.await.unwrap_or_else(|panic| {
                let problem = failed(&test.case, format!("internal error in `kb`: {panic}"));
                report(test, Duration::ZERO, vec![problem])
            });
            (index, report)
        }
    });
    let mut running = futures::stream::iter(runs).buffer_unordered(options.jobs.max(1));
    let mut reports: Vec<(usize, TestReport)> = Vec::new();
    while let Some((index, report)) = running.next().await {
        ended(&report);
        reports.push((index, report));
    }
    reports.sort_by_key(|(index, _)| *index);
    reports.into_iter().map(|(_, report)| report).collect()
}

async fn run_test(
    project: Arc<Project>,
    test: Arc<PlaybookTest>,
    options: TestOptions,
) -> TestReport {
    let began = clock::instant();
    let folder = folder::TestFolder::create(&project.context.environment.temp_dir);
    let folder = match folder {
        Ok(folder) => folder,
        Err(error) => {
            let message = format!("the folder of the test cannot be created: {error}");
            return report(test.clone(), began.elapsed(), vec![failed(&test.case, message)]);
        }
    };
    let checked = playing::play(&project, &test, &folder, options.update).await;
    let (problems, updated) = match checked {
        Ok(checked) => checked,
        Err(problem) => (vec![*problem], None),
    };
    let kept = options.keep && !problems.is_empty();
    let duration = began.elapsed();
    let path = kept.then(|| folder.keep());
    TestReport { updated, folder: path, ..report(test, duration, problems) }
}

fn report(test: Arc<PlaybookTest>, duration: Duration, problems: Vec<Diagnostic>) -> TestReport {
    TestReport { test, duration, problems, updated: None, folder: None }
}

/// A problem that concerns the whole test.
fn failed(case: &TestCase, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::TEST_FAILED, case.name.span, message.into())
}
