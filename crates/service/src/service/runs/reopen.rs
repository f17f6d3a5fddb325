//! Continues recorded runs: resume, retry, approve, cancel.

use super::assembly::assemble;
use super::budget;
use super::killed_commands;
use super::models::needs_model;
use super::prepared::Prepared;
use super::present;
use super::undone::{alone, require_none, with_undone};
use super::{Overrides, ProjectContext};
use crate::service::ServiceError;
use crate::service::error::ResourceKind;
use crate::service::start_request::step_of;
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, RunId};
use kb_core::redaction::{Mask, Redactor};
use kb_core::run::{InstanceIx, Rules, RunStatus, State};
use kb_engine::engine::StartMode;
use kb_engine::inspect::{Earlier, Frozen, find_run, require_as_recorded, require_step};
use kb_engine::journal::Journal;
use kb_host::llm::Tiers;
use kb_language::plan::Plan;
use serde_json::json;
use std::sync::Arc;

/// The result of [`cancel`].
pub enum Cancelled {
    /// Another process has the lease; it received the message.
    Delivered(RunId),
    /// No process has the lease: drive this run to end it.
    Ready(Box<Prepared>),
    /// The run had ended before, with this status.
    AlreadyEnded(RunId, RunStatus),
}

/// Resumes a run that was interrupted or is waiting.
pub fn resume(
    context: ProjectContext,
    name: &str,
    overrides: &Overrides,
) -> Result<Prepared, ServiceError> {
    let (journal, run, status) = find(&context, name)?;
    if status.has_ended() {
        let help = if status == RunStatus::Succeeded {
            "start a new run with `kb playbook run`".to_owned()
        } else {
            format!("`kb run retry {run}` reopens it")
        };
        let (verb, state) = status.words();
        let failure =
            Failure::new(Code::NOT_RESUMABLE, format!("run `{run}` {verb} {state}")).help(help);
        return Err(ServiceError::refused(failure));
    }
    reopen(context, &*journal, run, overrides, |_| Ok(StartMode::Resume))
}

/// The steps that a retry runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryFrom<'a> {
    /// All steps that did not succeed.
    Unsuccessful,
    /// This step and all steps after it.
    Step(&'a str),
    /// This step alone; the steps after it keep their results.
    Only(&'a str),
}

/// Reopens a run that has ended: from a step, or from all steps that did not succeed.
pub fn retry(
    context: ProjectContext,
    name: &str,
    from: RetryFrom<'_>,
    overrides: &Overrides,
) -> Result<Prepared, ServiceError> {
    let (journal, run, status) = find(&context, name)?;
    if !status.has_ended() {
        let failure =
            Failure::new(Code::NOT_RESUMABLE, format!("run `{run}` is {status} and has not ended"))
                .help(format!("`kb run resume {run}` continues it"));
        return Err(ServiceError::refused(failure));
    }
    if status == RunStatus::Succeeded && from == RetryFrom::Unsuccessful {
        let failure =
            Failure::new(Code::NOT_RESUMABLE, format!("run `{run}` succeeded")).help(format!(
                "`--from STEP` runs that step and all steps after it again; `kb run retry {run} \
                 --with-current` runs what changed in the definitions"
            ));
        return Err(ServiceError::refused(failure));
    }
    let item = match from {
        RetryFrom::Step(name) | RetryFrom::Only(name) if name.ends_with(']') => {
            Some(item_of(&*journal, &run, name)?)
        }
        RetryFrom::Step(_) | RetryFrom::Only(_) | RetryFrom::Unsuccessful => None,
    };
    let (root, earlier) = (context.root.clone(), run.clone());
    reopen(context, &*journal, run, overrides, |plan| {
        let step = |name: &str| step_of(plan, name).map(|ix| InstanceIx(ix.0));
        let instance = |name: &str| item.map_or_else(|| step(name), Ok);
        Ok(match from {
            RetryFrom::Unsuccessful => with_undone(&*journal, &earlier, &root, None)?,
            RetryFrom::Step(step) => {
                with_undone(&*journal, &earlier, &root, Some(instance(step)?))?
            }
            RetryFrom::Only(step) => alone(&*journal, &earlier, &root, instance(step)?)?,
        })
    })
}

/// The number of an item by its name, such as `fetch[b]`.
fn item_of(journal: &dyn Journal, run: &RunId, name: &str) -> Result<InstanceIx, ServiceError> {
    let (catalog, plan) = Frozen::of_run(journal, run)?.load()?;
    require_step(&plan, name)?;
    let rules = Rules { undecided: catalog.settings.undecided(), ..Rules::default() };
    let mut state = State::new(&plan, rules);
    for stored in journal.events(run, 0)? {
        state.apply(&plan, stored.at, &stored.event);
    }
    let step = name.split('[').next().unwrap_or(name);
    let parent = InstanceIx(step_of(&plan, step)?.0);
    let items = state.instance(parent).items().map(|items| items.all().collect::<Vec<_>>());
    let items = items.unwrap_or_default();
    let named = |ix: &InstanceIx| state.key(&plan, *ix).to_string();
    items
        .iter()
        .find(|ix| named(ix) == name)
        .copied()
        .ok_or_else(|| ServiceError::unknown(ResourceKind::Step, name, items.iter().map(named)))
}

/// Cancels a run: the lease owner receives the request; without a lease owner, the returned run is
/// to be driven here to end it.
pub fn cancel(context: ProjectContext, name: &str, by: &str) -> Result<Cancelled, ServiceError> {
    let (journal, run, status) = find(&context, name)?;
    if status.has_ended() {
        return Ok(Cancelled::AlreadyEnded(run, status));
    }
    if journal.is_leased(&run)? {
        let key = format!("cancel-{}-{}", context.clock().now().0, std::process::id());
        journal.post(&run, &key, "cancel", json!({"by": by}))?;
        // If the lease was released meanwhile, the message waits for the next lease owner.
        if journal.is_leased(&run)? {
            return Ok(Cancelled::Delivered(run));
        }
        let prepared =
            reopen(context, &*journal, run, &Overrides::default(), |_| Ok(StartMode::Resume))?;
        return Ok(Cancelled::Ready(Box::new(prepared)));
    }
    let opening = StartMode::Cancel { by: by.to_owned() };
    let prepared = reopen(context, &*journal, run, &Overrides::default(), |_| Ok(opening))?;
    Ok(Cancelled::Ready(Box::new(prepared)))
}

/// A run by its name, with the open journal. The journal stays open until the run opens it again,
/// because closing the last connection checkpoints the database.
pub(super) fn find(
    context: &ProjectContext,
    name: &str,
) -> Result<(Arc<dyn Journal>, RunId, RunStatus), ServiceError> {
    let journal = context.journal(Default::default())?;
    let run = find_run(&*journal, name)?;
    let status = journal.run(&run)?.status;
    Ok((journal, run, status))
}

pub(super) fn reopen(
    context: ProjectContext,
    journal: &dyn Journal,
    run: RunId,
    overrides: &Overrides,
    opening: impl FnOnce(&Plan) -> Result<StartMode, ServiceError>,
) -> Result<Prepared, ServiceError> {
    let redactor = Arc::new(Redactor::default());
    let reopened = prepare(context, journal, run, overrides, opening, &redactor);
    reopened.map_err(|error| error.masked_by(&redactor))
}

fn prepare(
    context: ProjectContext,
    journal: &dyn Journal,
    run: RunId,
    overrides: &Overrides,
    opening: impl FnOnce(&Plan) -> Result<StartMode, ServiceError>,
    redactor: &Arc<Redactor>,
) -> Result<Prepared, ServiceError> {
    require_as_recorded(journal, &run)?;
    let frozen = Frozen::of_run(journal, &run)?;
    let started_with = frozen.limits;
    let frozen = Frozen {
        yes: frozen.yes || overrides.yes,
        limits: overrides.limits.or(frozen.limits),
        max_parallel: overrides.max_parallel.unwrap_or(frozen.max_parallel),
        limited_by_processors: frozen.limited_by_processors && overrides.max_parallel.is_none(),
        ..frozen
    };
    let (catalog, plan) = frozen.load()?;
    let opening = opening(&plan)?;
    if matches!(opening, StartMode::Resume | StartMode::Answer { .. }) {
        require_none(journal, &run, &context.root)?;
    }
    killed_commands::require_none(&context, journal, Some((&run, &opening)))?;
    let needs_model = needs_model(&plan) && frozen.script.is_none();
    let tiers = needs_model.then(|| {
        Tiers::from_frozen(&frozen.tiers, &catalog.settings, &context.environment.variables)
    });
    let present = present::settings(&context.root, frozen.catalog())?;
    let settings = Arc::new(catalog.settings.narrowed_by(&present));
    let ledger = Arc::new(budget::ledger(&plan, &settings, frozen.limits));
    let mut assembly =
        assemble(&context, &settings, &frozen, &plan, tiers, ledger.clone(), redactor.clone())?;
    let epoch = assembly.parts.journal.acquire(&run)?;
    let killed_owner = assembly.parts.journal.previous_owner(&run);
    // The events are read once for the engine and the display.
    let before = assembly.parts.journal.events(&run, 0)?;
    let opening = match opening {
        // A lease owner that died before its first event left a run that has not started.
        StartMode::Resume | StartMode::Answer { .. } if before.is_empty() => {
            let environment = assembly.environment(&frozen);
            let presets = Earlier::presets_of(&frozen, journal, &plan)?;
            StartMode::Start { digest: Digest::of_json(&frozen.json()), environment, presets }
        }
        other => other,
    };
    let changed = frozen.changed_since(&context.root);
    let limits = overrides.limits.or(budget::stored_limits(&before)).or(frozen.limits);
    assembly.rules.limits = limits;
    ledger.limit(limits);
    let raised = overrides.limits.or(limits.changed_from(started_with));
    budget::raise_steps(&ledger, &plan, &before, raised);
    budget::carry_over(&ledger, &plan, assembly.rules, &before);
    let prepared = assembly.prepare(run, epoch, plan, frozen, opening, before);
    Ok(Prepared { changed, killed_owner, ..prepared })
}
