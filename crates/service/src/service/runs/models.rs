//! The models and the parallelism of a run.

use super::{Overrides, ProjectContext};
use crate::service::ServiceError;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_host::llm::Tiers;
use kb_language::definition::{Settings, Specialist};
use kb_language::plan::Plan;
use std::sync::Arc;

/// The specialists of a plan and of its child runs.
fn specialists(plan: &Plan) -> impl Iterator<Item = &Arc<Specialist>> {
    let steps = plan.with_children().into_iter().flat_map(Plan::steps);
    steps.flat_map(|step| step.specialists())
}

/// Whether a run of a plan needs a model, for itself or for a child run.
pub(super) fn needs_model(plan: &Plan) -> bool {
    specialists(plan).next().is_some()
}

/// The models of a run, if it needs any. A specialist without a model is an error before the run
/// starts.
pub(super) async fn tiers(
    plan: &Plan,
    scripted: bool,
    settings: &Settings,
    context: &ProjectContext,
    model: Option<&str>,
) -> Result<Option<Tiers>, ServiceError> {
    if scripted || !needs_model(plan) {
        return Ok(None);
    }
    let mut tiers = Tiers::from(settings, &context.environment.variables);
    if let Some(name) = model {
        tiers = tiers.with_model(name);
    }
    if specialists(plan).all(|own| own.agent.is_some()) {
        return Ok(Some(tiers));
    }
    if tiers.wants_local() {
        tiers = tiers.with_local(&kb_host::llm::local_servers().await);
    }
    tiers = tiers.with_local_windows().await;
    for specialist in specialists(plan).filter(|own| own.agent.is_none()) {
        let choice = &specialist.model;
        let name = if model.is_some() { None } else { choice.model.as_deref() };
        tiers.resolve(choice.tier, name).map_err(|error| {
            let message = format!("specialist `{}` has no model: {error}", specialist.id);
            let help = error.failure().help.unwrap_or_default();
            let failure = Failure::new(Code::NO_MODEL, message).help(help);
            ServiceError::environment(failure)
        })?;
    }
    Ok(Some(tiers))
}

/// Maximum number of step instances that run at the same time, where the command line, the definition or
/// the settings set one.
pub(super) fn max_parallel(plan: &Plan, settings: &Settings, overrides: &Overrides) -> Option<u32> {
    overrides.max_parallel.or(plan.playbook().limits.max_parallel).or(settings.limits.max_parallel)
}
