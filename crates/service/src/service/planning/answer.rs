//! The answer of a run of `kb do`, each sentence with what it rests on. Computed from the record; no model is called.

use super::failed::plan_of;
use crate::service::runs::ProjectContext;
use crate::service::{ServiceError, run_output, show_run};
use kb_base::value::{Json, RunId};
use kb_core::evidence::{CheckDetail, Verdict, Verification};
use kb_core::run::{RunStatus, StepStatus};
use kb_core::wire::{InstanceView, RunView};
use kb_engine::inspect::whole_verdicts;
use kb_goal::{CitedAnswer, CitedFile, Finding, Unread};
use schemars::JsonSchema;
use serde::Serialize;

/// Number of unread statements from which a gate lists no more.
const LISTED: usize = 20;

/// The goal of a run, what its checks prove, and the answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GoalAnswer {
    /// The sentence of the person.
    pub goal: String,
    /// `complete` if the checks of the goal hold and did not all hold before, `unchecked` if nothing proves it; null
    /// while the run has not succeeded.
    #[schemars(with = "Option<String>")]
    pub result: Option<String>,
    /// Why subtasks were left out because the goal was reached early: `reason`, `evidence` and `skipped`; null otherwise.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub stopped: Option<Json>,
    /// The sentences of the specialists.
    #[serde(flatten)]
    pub answer: CitedAnswer,
}

/// The answer of a run; `None` if `kb do` did not write its playbook.
///
/// # Errors
///
/// The run cannot be read.
pub fn goal_answer(
    context: &ProjectContext,
    run: &str,
) -> Result<Option<GoalAnswer>, ServiceError> {
    let view = show_run(context, run)?;
    let journal = context.journal(Default::default())?;
    let Ok(id) = RunId::new(&view.run) else { return Ok(None) };
    let Some(playbook) = plan_of(&*journal, &id)? else { return Ok(None) };
    let outputs = run_output(context, &view.run, None).map(|(outputs, _)| outputs);
    let outputs = outputs.unwrap_or_default();
    let verdicts = whole_verdicts(&journal, &id)?;
    let said =
        |step: &&InstanceView| step.kind == "specialist" && step.status == StepStatus::Succeeded;
    let findings: Vec<Finding> = view
        .steps
        .iter()
        .filter(said)
        .map(|step| finding(context, &view, step, verdicts.get(&step.instance)))
        .collect();
    let result = outputs.get("goal").and_then(Json::as_str).map(str::to_owned);
    Ok(Some(GoalAnswer {
        goal: playbook["description"].as_str().unwrap_or_default().to_owned(),
        result: result.filter(|_| view.status == RunStatus::Succeeded),
        stopped: outputs.get("stopped").filter(|own| own.is_object()).cloned(),
        answer: CitedAnswer::of(&findings),
    }))
}

fn finding(
    context: &ProjectContext,
    run: &RunView,
    step: &InstanceView,
    whole: Option<&Verification>,
) -> Finding {
    let output = run_output(context, &run.run, Some(&step.instance)).ok();
    let summary = output.and_then(|(value, _)| value.get("summary")?.as_str().map(str::to_owned));
    let passed = step.verdict == Some(Verdict::Passed);
    let reason = step.checks.iter().find(|check| check.verdict != Verdict::Passed);
    let reason = reason.and_then(|check| check.reason.clone());
    Finding {
        step: step.instance.clone(),
        summary: summary.unwrap_or_default(),
        passed,
        reason: reason.or_else(|| Some("no gate has passed".to_owned())),
        unread: whole.map(unread).unwrap_or_default(),
        files: whole.map(verified_files).unwrap_or_default(),
    }
}

/// The sentences of the summary that no check read.
fn unread(whole: &Verification) -> Unread {
    let statements = |check: &&CheckDetail| check.check == "unchecked statements";
    match (whole.verdict, whole.checks.iter().find(statements)) {
        (Verdict::Passed, None) => Unread::Listed(Vec::new()),
        (Verdict::Unchecked, Some(check)) => {
            let listed = check.evidence.as_ref().and_then(|own| own["unread"].as_array());
            match listed {
                Some(listed) if listed.len() < LISTED => {
                    let own = listed.iter().filter(|own| own["key"] == "summary");
                    let texts = own.filter_map(|own| own["text"].as_str().map(str::to_owned));
                    Unread::Listed(texts.collect())
                }
                Some(_) | None => Unread::Unknown,
            }
        }
        (Verdict::Passed | Verdict::Unchecked | Verdict::Failed | Verdict::Inconclusive, _) => {
            Unread::Unknown
        }
    }
}

/// The files with a change that the record shows and that the disk had at the gate.
fn verified_files(whole: &Verification) -> Vec<CitedFile> {
    let file = |check: &CheckDetail| {
        let (_, path) = check.check.strip_prefix("claim ")?.split_once(' ')?;
        let sha256 = check.evidence.as_ref()?["now"]["sha256"].as_str()?.to_owned();
        Some(CitedFile { path: path.to_owned(), sha256 })
    };
    let passed = whole.checks.iter().filter(|check| check.verdict == Verdict::Passed);
    let mut files: Vec<CitedFile> = passed.filter_map(file).collect();
    files.dedup_by(|a, b| a.path == b.path);
    files
}
