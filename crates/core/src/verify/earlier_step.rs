//! What specialists changed in earlier steps, or in earlier passes of a loop, that can decide what a command does now: the
//! gate of a later step sees the files of a test as they are, and not that they test less than before the run.

use super::asked_work::AskedWork;
use super::deciding::Deciding;
use super::observation::{ObservationQuery, Observations};
use super::python_modules::installed_query;
use super::recorded_changes::RecordedChanges;
use super::runner::{self, TestUse, is_manifest, is_test_file, is_test_folder};
use crate::evidence::{Change, FILES_BEFORE, Invocation, InvocationStatus, Purpose};
use kb_base::value::{Digest, Json, Timestamp};
use serde::{Deserialize, Serialize};

/// The changes of one earlier step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EarlierStep {
    /// The name of the step or item.
    step: String,
    /// What its task asked to be changed.
    #[serde(default, skip_serializing_if = "AskedWork::is_empty")]
    asked: AskedWork,
    /// The changes, in order.
    changes: Vec<Change>,
}

/// A change without what nothing here reads, if its file can decide what a command does.
pub fn can_decide(change: &Change) -> Option<Change> {
    let path = change.path.as_str();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_program = |name: &str| !name.contains('.') || name.ends_with(".sh");
    let in_tests = || folders.split('/').any(is_test_folder);
    let is_module = || name.ends_with(".py") && (folders.is_empty() || name == "__init__.py");
    let decides = runner::decides_any(path) || is_test_file(path) || is_program(name);
    let has_lines = is_manifest(path) || is_test_file(path);
    let counts = !change.same_content && (decides || in_tests() || is_module());
    counts.then(|| Change { diff: change.diff.clone().filter(|_| has_lines), ..change.clone() })
}

impl EarlierStep {
    /// The changes of a step with this task, as its definition has it.
    pub fn new(step: String, task: &str, changes: Vec<Change>) -> EarlierStep {
        EarlierStep { step, asked: AskedWork::of(task), changes }
    }

    fn calls(&self) -> [Invocation; 1] {
        [Invocation {
            id: String::new(),
            tool: FILES_BEFORE.to_owned(),
            args: Json::Null,
            args_hash: Digest::of(b""),
            at: Timestamp(0),
            duration_ms: 0,
            purpose: Purpose::Execution,
            status: InvocationStatus::Success,
            changes: self.changes.clone(),
            evidence: Vec::new(),
            process: None,
            output: None,
            bytes: 0,
        }]
    }

    /// Why the step may have decided the result of a command, as a fragment.
    pub(super) fn decides(
        &self,
        argv: &[String],
        test: Option<&TestUse<'_>>,
        observations: &Observations,
        allowed: &[String],
    ) -> Option<String> {
        let calls = self.calls();
        let deciding = Deciding {
            argv,
            test,
            changes: &RecordedChanges::of(&calls, false),
            observations,
            allowed,
            asked: &self.asked,
            new_programs: true,
            fresh_caches: true,
        };
        let decided = deciding.by_recorded().into_iter().filter_map(|decided| decided.path);
        let path = decided.into_iter().find(|path| !self.asked.may_ask_for(path))?;
        Some(format!(
            "the earlier step `{}` changed `{path}`, which decides what the command does",
            self.step
        ))
    }

    /// The question which of the modules that the step created are installed.
    pub(super) fn installed_query(&self, argv: &[String]) -> Option<ObservationQuery> {
        installed_query(argv, &RecordedChanges::of(&self.calls(), false))
    }
}
