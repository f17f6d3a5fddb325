//! A plan whose run failed, as a planner is told about it.

use crate::service::{Project, ServiceError, run_output, show_run};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, JsonMap, RunId};
use kb_core::run::{RunStatus, StepAction, StepFailure, StepStatus};
use kb_core::wire::{InstanceView, RunView};
use kb_engine::inspect::{Frozen, FrozenFile, FrozenRole};
use kb_engine::journal::Journal;
use kb_goal::Taken;
use kb_language::definition::load_value;
use serde_json::json;
use std::collections::BTreeSet;

/// The first line of each plan.
pub(super) const HEAD: &str = "# Written by `kb do`. All keys: kb schema playbook\n";
/// Maximum number of characters of what a step said.
const PREVIEW: usize = 400;
/// Maximum number of characters of a failure.
const MESSAGE: usize = 1_000;

/// A plan of `kb do` whose run failed.
#[derive(Debug)]
pub struct FailedPlan {
    /// The run that failed and is continued.
    pub run: RunId,
    /// The sentence of the person.
    pub goal: String,
    /// The number of the revision that replaces it, from 1.
    pub number: u32,
    /// What failed.
    pub evidence: Vec<StepFailure>,
    /// What the failures suggest.
    suggested: Vec<StepAction>,
    /// The JSON form of its text, with the edits of a person.
    pub(super) playbook: Json,
    /// The steps that succeeded or were skipped.
    pub(super) finished: BTreeSet<String>,
    /// What the planner reads: the beginning of what each step said, and the failures with their suggestions.
    pub(super) report: Json,
}

/// The plan of a run, if the run failed and its playbook was written by `kb do`.
pub fn failed_plan(project: &Project, run: &str) -> Result<Option<FailedPlan>, ServiceError> {
    let view = show_run(&project.context, run)?;
    if view.status != RunStatus::Failed {
        return Ok(None);
    }
    let Ok(run) = RunId::new(&view.run) else { return Ok(None) };
    let journal = project.context.journal(Default::default())?;
    let Some(playbook) = plan_of(&*journal, &run)? else { return Ok(None) };
    let number = view.base.as_ref().and_then(|base| base.revision.as_ref());
    let number = number.map_or(1, |revision| revision.number + 1);
    let goal = playbook["description"].as_str().unwrap_or_default().to_owned();
    let is_finished =
        |step: &&InstanceView| matches!(step.status, StepStatus::Succeeded | StepStatus::Skipped);
    let finished = view.steps.iter().filter(is_finished).map(|step| step.step.clone()).collect();
    let report = report(project, &view);
    let failed = view.steps.iter().filter(|step| !step.tolerated);
    let evidence = failed.filter_map(|step| {
        let message = cut(&step.error.as_ref()?.message, MESSAGE);
        Some(StepFailure { step: step.instance.clone(), message })
    });
    let evidence = evidence.collect();
    let suggested = view.steps.iter().flat_map(|step| {
        let hints = step.error.iter().flat_map(|error| &error.suggested_next);
        hints.map(|hint| StepAction {
            step: step.instance.clone(),
            action: json!(hint.action).as_str().unwrap_or_default().to_owned(),
        })
    });
    let suggested = suggested.collect();
    Ok(Some(FailedPlan { run, goal, number, evidence, suggested, playbook, finished, report }))
}

/// The JSON form of the playbook of a run, if `kb do` wrote it.
pub(super) fn plan_of(journal: &dyn Journal, run: &RunId) -> Result<Option<Json>, ServiceError> {
    let frozen = Frozen::of_run(journal, run)?;
    let own = |file: &&FrozenFile| {
        matches!(file.role, FrozenRole::Playbook) && file.text.starts_with(HEAD)
    };
    let Some(file) = frozen.files.iter().find(own) else { return Ok(None) };
    let read = load_value(&file.path, file.text.as_bytes()).0.map(|read| read.value);
    Ok(read.filter(|playbook| playbook["id"] == *frozen.definition.as_str()))
}

impl FailedPlan {
    /// The suggestion that an answer takes, which must be one of those that the planner was told.
    pub(super) fn taken(&self, takes: Option<&Taken>) -> Result<Option<StepAction>, ServiceError> {
        let Some(Taken { step, action }) = takes else { return Ok(None) };
        let is_it = |own: &&StepAction| own.step == *step && own.action == *action;
        if let Some(found) = self.suggested.iter().find(is_it) {
            return Ok(Some(found.clone()));
        }
        let known = self.suggested.iter().map(|own| format!("`{}` for `{}`", own.action, own.step));
        let known: Vec<String> = known.collect();
        let message = format!("no failure suggests `{action}` for `{step}`");
        let failure = Failure::new(Code::PLAN_UNUSABLE, message);
        let help = format!("take one of these, or leave `takes` out: {}", known.join(", "));
        Err(ServiceError::refused(failure.help(help)))
    }
}

fn report(project: &Project, view: &RunView) -> Json {
    let steps = view.steps.iter().map(|step| {
        let mut told = JsonMap::new();
        told.insert("step".to_owned(), json!(step.instance));
        told.insert("status".to_owned(), json!(step.status.to_string()));
        let output = || run_output(&project.context, &view.run, Some(&step.instance)).ok();
        let said = Some(step).filter(|step| step.status == StepStatus::Succeeded);
        let said = said.and_then(|_| output()?.0.get("summary")?.as_str().map(str::to_owned));
        if let Some(said) = said {
            told.insert("summary".to_owned(), json!(cut(&said, PREVIEW)));
        }
        if let Some(error) = &step.error {
            told.insert("failure".to_owned(), json!(cut(&error.message, MESSAGE)));
            told.insert("suggestions".to_owned(), json!(error.suggested_next));
        }
        Json::Object(told)
    });
    Json::Array(steps.collect())
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
