//! New runs that keep results of an earlier run: `kb run retry --with-current` and
//! `kb playbook run --from`.

use super::ProjectContext;
use super::begin::{Basis, begin};
use super::keeping::{Current, base_run, choices, secure_blobs};
use super::prepared::Prepared;
use super::reopen::find;
use super::task_files::all_task_files;
use crate::project::ProjectFolder;
use crate::service::start_request::{resolve_over, step_of};
use crate::service::{Ask, Project, ServiceError, StartRequest};
use kb_base::diagnostic::Code;
use kb_base::value::{DefinitionId, Failure, RunId, StepId};
use kb_core::run::{Choice, PlanRevision, Rules};
use kb_engine::engine::Folded;
use kb_engine::inspect::{BaseRun, Earlier, Frozen, FrozenFile, FrozenRole, parent_facts};
use kb_engine::journal::{Journal, JournalError};
use kb_host::workspace::unified_diff;
use kb_language::definition::InputFile;
use kb_language::plan::{Facts, Plan};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A request to continue an earlier run with the current definitions.
#[derive(Debug, Clone, Default)]
pub struct RetryRequest {
    /// The earlier run: its id, a unique prefix of it, or `@last`.
    pub run: String,
    /// A step that runs again with all steps after it, even if nothing changed.
    pub from: Option<String>,
    /// Parameters, script and overrides. Parameters that are not given keep their values.
    pub start: StartRequest,
}

/// What a new run keeps of an earlier one, as human-readable text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepReport {
    /// Id of the earlier run.
    pub base: String,
    /// Steps whose results are kept.
    pub kept: Vec<String>,
    /// `forEach` steps that keep the results of the items that succeeded.
    pub kept_items: Vec<String>,
    /// Steps whose results are kept if their gate accepts them, each with the reason.
    pub verified: Vec<(String, String)>,
    /// Steps that run, each with the reason.
    pub again: Vec<(String, String)>,
    /// Definition files that changed, each with the hunks of its unified diff.
    pub changed: Vec<(String, String)>,
}

/// Starts a new run with the current definitions that keeps what an earlier run has finished.
pub async fn retry_with_current(
    context: ProjectContext,
    request: RetryRequest,
) -> Result<(Prepared, KeepReport), ServiceError> {
    let (journal, run, _) = find(&context, &request.run)?;
    let frozen = require_idle(&*journal, &run)?;
    let project = Project::load(ProjectFolder::at(&context.root), &context.environment);
    let is_own =
        |file: &&FrozenFile| matches!(file.role, FrozenRole::Playbook | FrozenRole::Workflow);
    let path = frozen.files.iter().find(is_own);
    let path = path.map(|file| context.root.join(&file.path).display().to_string());
    let named = path.as_deref().unwrap_or_default();
    let project = project.with_named(&[named])?;
    let mut start = request.start;
    start.definition = frozen.definition.to_string();
    let how = Continuation { from: request.from, revision: None };
    from_earlier(project, &journal, &run, start, how, None).await
}

/// Starts a new run from a step: the steps before it keep their results of the last run.
pub async fn start_from(
    project: Project,
    start: StartRequest,
    from: String,
    ask: Option<&mut Ask<'_>>,
) -> Result<(Prepared, KeepReport), ServiceError> {
    let project = project.with_named(&[&start.definition])?;
    let definition = project.definition_id(&start.definition)?;
    let journal = project.context.journal(Default::default())?;
    let last = journal.latest(Some(definition.as_str()), None)?;
    let Some(last) = last else {
        let message =
            format!("`{definition}` has not run yet, so there is no result to start from");
        let failure = Failure::new(Code::NOT_RESUMABLE, message)
            .help(format!("`--only {from}` runs the step and those that it needs"));
        return Err(ServiceError::refused(failure));
    };
    require_idle(&*journal, &last.run)?;
    let how = Continuation { from: Some(from), revision: None };
    from_earlier(project, &journal, &last.run, start, how, ask).await
}

/// Starts the run of a plan that replaces steps of one whose run failed. Results are kept although files that their
/// steps read have changed since: the failed run would have used them, too.
pub(in crate::service) async fn start_revised(
    project: Project,
    definition: &DefinitionId,
    start: StartRequest,
    revision: PlanRevision,
) -> Result<Prepared, ServiceError> {
    let journal = project.context.journal(Default::default())?;
    require_idle(&*journal, &revision.run)?;
    let (run, definition) = (revision.run.clone(), definition.to_string());
    let start = StartRequest { definition, ..start };
    let how = Continuation { from: None, revision: Some(Box::new(revision)) };
    Ok(from_earlier(project, &journal, &run, start, how, None).await?.0)
}

/// How a run continues an earlier one.
#[derive(Default)]
struct Continuation {
    /// A step that runs again with all steps after it.
    from: Option<String>,
    /// Why steps were replaced. What is kept and what differs is filled in.
    revision: Option<Box<PlanRevision>>,
}

/// The stored definitions of a run that can be the base of another one.
fn require_idle(journal: &dyn Journal, run: &RunId) -> Result<Frozen, ServiceError> {
    let refused = |message: String, help: String| {
        let failure = Failure::new(Code::NOT_RESUMABLE, message).help(help);
        Err(ServiceError::refused(failure))
    };
    if journal.is_leased(run)? {
        let message = format!("run `{run}` is running");
        return refused(message, format!("wait for its end, or stop it: `kb run cancel {run}`"));
    }
    let frozen = Frozen::of_run(journal, run)?;
    if let Some(parent) = &frozen.parent {
        let message = format!("run `{run}` is a child run of `{}`", parent.run);
        return refused(message, format!("`kb run retry {} --with-current`", parent.run));
    }
    Ok(frozen)
}

async fn from_earlier(
    project: Project,
    journal: &Arc<dyn Journal>,
    run: &RunId,
    mut start: StartRequest,
    how: Continuation,
    ask: Option<&mut Ask<'_>>,
) -> Result<(Prepared, KeepReport), ServiceError> {
    let earlier = Earlier::read(&**journal, run, u64::MAX)?;
    let (project, definition, params) = resolve_over(&project, &start, &earlier, ask)?;
    let plan = project.plan(definition.as_str())?;
    let Continuation { from, revision } = how;
    let again = from.map(|name| step_of(&plan, &name)).transpose()?.into_iter().collect();
    let used = plan.files();
    let is_used = |file: &&InputFile| {
        used.contains(file.path.as_str()) || project.settings_paths().contains(&file.path.as_str())
    };
    let now: Vec<InputFile> = project.files.iter().filter(is_used).cloned().collect();
    // A task file that is missing is reported when the run begins.
    let task_files = all_task_files(&plan, &project.context.root).unwrap_or_default();
    let current = Current {
        plan: &plan,
        files: &now,
        params: &params,
        task_files: &task_files,
        root: &project.context.root,
        keeps_reads: revision.is_some(),
    };
    let choices = choices(&current, &earlier, &again, &**journal);
    let mut base = base_run(&earlier, run, &plan, &choices);
    base.revision =
        revision.map(|revision| Box::new(with_difference(*revision, &base, &earlier.plan, &plan)));
    let report = report(&base, &plan, &choices, &earlier.frozen.inputs(), &now);
    let presets = earlier.presets(&plan, &base);
    secure_blobs(&**journal, &presets, &earlier.verified_results(&**journal, &base)?)?;
    let script = earlier.frozen.script.clone().filter(|_| start.script.is_none());
    let overrides = &mut start.overrides;
    overrides.yes |= earlier.frozen.yes;
    overrides.limits = overrides.limits.or(earlier.frozen.limits);
    overrides.model = overrides.model.take().or_else(|| earlier.frozen.model.clone());
    drop(plan);
    let facts = facts_of(journal, &earlier)?;
    let basis = Basis { base: Some(base), script, facts, ..Basis::default() };
    let prepared = begin(project, definition, params, start, basis).await?;
    Ok((prepared, report))
}

/// A revision with the steps that are kept, removed and added.
fn with_difference(
    revision: PlanRevision,
    base: &BaseRun,
    before: &Plan,
    now: &Plan,
) -> PlanRevision {
    let only_in = |plan: &Plan, other: &Plan| {
        let ids = plan.steps().iter().map(|planned| planned.step.id.as_str());
        ids.filter(|id| other.find(id).is_none()).map(str::to_owned).collect()
    };
    PlanRevision {
        kept: base.keep.iter().map(ToString::to_string).collect(),
        removed: only_in(before, now),
        added: only_in(now, before),
        ..revision
    }
}

/// What is known of an earlier run at its end.
pub(in crate::service) fn facts_of(
    journal: &Arc<dyn Journal>,
    earlier: &Earlier,
) -> Result<Facts, JournalError> {
    let events = journal.events(&earlier.run, 0)?;
    let before = (earlier.frozen.facts.clone(), parent_facts(journal, &earlier.frozen));
    Ok(Folded::since(before, &earlier.plan, Rules::default(), &events).known.facts())
}

fn report(
    base: &BaseRun,
    plan: &Plan,
    choices: &[Choice],
    before: &[InputFile],
    now: &[InputFile],
) -> KeepReport {
    let chosen = |wanted: Choice| {
        let steps = plan.steps().iter().zip(choices).filter(|(_, choice)| **choice == wanted);
        steps.map(|(planned, _)| planned.step.id.to_string()).collect()
    };
    let text = |files: &[InputFile], path: &str| {
        let found = files.iter().find(|file| file.path == path);
        found.map(|file| String::from_utf8_lossy(&file.bytes).into_owned()).unwrap_or_default()
    };
    let paths: BTreeSet<&String> = before.iter().chain(now).map(|file| &file.path).collect();
    let changed: BTreeMap<String, String> = paths
        .into_iter()
        .map(|path| (path.clone(), unified_diff(&text(before, path), &text(now, path))))
        .filter(|(_, diff)| !diff.is_empty())
        .collect();
    let reasons = |steps: &[(StepId, String)]| {
        steps.iter().map(|(id, why)| (id.to_string(), why.clone())).collect()
    };
    KeepReport {
        base: base.run.to_string(),
        kept: chosen(Choice::Keep),
        kept_items: chosen(Choice::KeepItems),
        verified: reasons(&base.verify),
        again: reasons(&base.again),
        changed: changed.into_iter().collect(),
    }
}
