//! Starting the run of a fire: what `kb serve` does in a process of its own for each run.

use super::runs::{self, Prepared};
use super::{DefinitionDigests, Project, ServiceError, StartRequest, params};
use crate::trigger::{API_TRIGGER, Fire, TriggerStore, trigger_id};
use kb_base::diagnostic::{Code, Diagnostic, Sources};
use kb_base::value::{Failure, RunId, StepId};
use kb_engine::inspect::Earlier;
use kb_engine::journal::{Journal, JournalError};
use kb_language::definition::{Playbook, Trigger, TriggerSource};
use kb_language::plan::{Facts, Touched};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Starts the run of a recorded fire: checks that the definition is the one that was enabled, reads the
/// parameters of the fire, and creates the run under its own id. Fails if the run exists already.
pub async fn start_fire(project: Project, run: &str) -> Result<Prepared, ServiceError> {
    let fire = recorded(&project, run)?;
    project.require_valid_settings()?;
    let playbook = project.playbook(&fire.playbook)?;
    let digest = DefinitionDigests::new(&project).of(&playbook);
    if fire.digest.is_some_and(|enabled| enabled != digest) {
        let message = format!("`{}` was changed after it was enabled", fire.playbook);
        return Err(refused(message, &format!("`kb trigger enable {}`", fire.trigger)));
    }
    let values = params::of_child(&playbook.params, fire.params.clone());
    let values = values.map_err(|mut problems| {
        problems.iter_mut().for_each(|problem: &mut Diagnostic| {
            (problem.span, problem.help) = (None, None);
        });
        ServiceError::Definitions { diagnostics: problems, sources: Box::<Sources>::default() }
    })?;
    let id = playbook.id.clone();
    let foreign_params = foreign_params(&playbook, &fire);
    let facts =
        Facts { touched: touched_before(&project, &fire)?, foreign_params, ..Facts::default() };
    let request = StartRequest { run: fire.run, ..StartRequest::default() };
    runs::begin(project, id, values, request, runs::Basis::knowing(facts)).await
}

/// The parameters that the payload of a trigger filled. The payload of a schedule is written by `kb` itself, and the
/// parameters of a run that a person started through the daemon by that person.
fn foreign_params(playbook: &Playbook, fire: &Fire) -> BTreeSet<String> {
    let is_its =
        |trigger: &&Trigger| trigger_id(playbook.id.as_str(), &trigger.name) == fire.trigger;
    match playbook.on.iter().find(is_its) {
        Some(trigger) if matches!(trigger.source, TriggerSource::Schedule(..)) => BTreeSet::new(),
        Some(trigger) => trigger.payload.iter().map(|(param, _)| param.clone()).collect(),
        None if fire.trigger == API_TRIGGER => BTreeSet::new(),
        None => fire.params.keys().cloned().collect(),
    }
}

/// Who could write to the project in the run whose end, or whose notification, this fire is: no person stands between.
fn touched_before(project: &Project, fire: &Fire) -> Result<Option<Touched>, ServiceError> {
    let Some(run) = fire.run_before() else { return Ok(None) };
    let journal = project.context.journal(Default::default())?;
    Ok(touched_in(&journal, &run))
}

/// Who could write in a run. One that was removed tells nothing; one that cannot be read counts as if a step could.
fn touched_in(journal: &Arc<dyn Journal>, run: &RunId) -> Option<Touched> {
    if let Err(JournalError::NoRun(_)) = journal.run(run) {
        return None;
    }
    let earlier = Earlier::read(&**journal, run, u64::MAX).ok();
    let facts = earlier.and_then(|earlier| runs::facts_of(journal, &earlier).ok());
    let touched = match facts {
        Some(facts) => facts.touched,
        None => StepId::new("unknown").ok().map(Touched::by),
    };
    touched.map(|touched| touched.in_run(run))
}

fn recorded(project: &Project, run: &str) -> Result<Fire, ServiceError> {
    let journal = project.context.journal(Default::default())?;
    let unknown = || refused(format!("no trigger recorded the run `{run}`"), "`kb trigger list`");
    let id = RunId::new(run).map_err(|_| unknown())?;
    match journal.run(&id) {
        Err(JournalError::NoRun(_)) => {}
        Err(error) => return Err(error.into()),
        Ok(_) => {
            let help = format!("`kb run show {run}` shows it");
            return Err(refused(format!("run `{run}` exists already"), &help));
        }
    }
    TriggerStore::open(&project.context.state_dir)?.fire_of(&id)?.ok_or_else(unknown)
}

fn refused(message: String, help: &str) -> ServiceError {
    let failure = Failure::new(Code::RUN_OF_FIRE, message);
    ServiceError::refused(failure.help(help))
}
