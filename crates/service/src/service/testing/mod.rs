//! Tests of playbooks (`kb playbook test`): each test runs a playbook in a new project folder with a
//! state folder of its own, and compares the result with what the test expects.
//!
//! [`load_tests`] finds and checks the test files of a project; [`run_tests`] runs them in parallel.

mod compare;
mod expectations;
mod folder;
mod from_run;
mod loading;
mod messages;
mod playing;
mod questions;
mod report;
mod snapshot;

use super::runs::require_none_open;
use super::{Project, ServiceError};
use futures::StreamExt;
use kb_base::diagnostic::Diagnostic;
use kb_clock as clock;
use std::sync::Arc;
use std::time::Duration;

pub use from_run::{RecordedFiles, RecordedTest, write_recorded_test};
pub use loading::load_tests;
pub(super) use loading::problems_of_tests;
use report::failed;
pub use report::{LoadedTests, PlaybookTest, TestReport, TestReportView};

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

/// Runs tests in parallel. `ended` receives each result at once; the results are returned in the order
/// of the tests. Refused if a command changed protected paths of the project.
pub async fn run_tests(
    project: &Project,
    tests: &LoadedTests,
    options: TestOptions,
    ended: &mut dyn FnMut(&TestReport),
) -> Result<Vec<TestReport>, ServiceError> {
    require_none_open(&project.context)?;
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
    Ok(reports.into_iter().map(|(_, report)| report).collect())
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
