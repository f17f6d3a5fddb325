//! The types of tests and of their results.

use kb_base::diagnostic::{Code, Diagnostic, Sources};
use kb_core::wire::Problem;
use kb_language::definition::TestCase;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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
    /// The test, with where it is declared.
    pub case: TestCase,
}

impl PlaybookTest {
    /// The name with which the test is shown and selected: playbook and name.
    pub fn title(&self) -> String {
        format!("{}: {}", self.case.playbook.value, self.case.name.value)
    }
}

/// The result of a test.
#[derive(Debug, Clone)]
pub struct TestReport {
    /// The declaration of the test.
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

/// A problem that concerns the whole test.
pub(super) fn failed(case: &TestCase, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::TEST_FAILED, case.name.span, message.into())
}
