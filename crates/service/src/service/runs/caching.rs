//! How the steps of a run use stored results.

use super::ProjectContext;
use crate::service::{ResourceKind, ServiceError};
use kb_base::value::Digest;
use kb_engine::inspect::{CacheUse, Frozen};
use kb_host::cache::ResultCache;
use kb_host::executor::{CacheOptions, StepCache};
use kb_language::definition::Settings;
use kb_language::plan::Plan;
use std::sync::Arc;

/// The stored results of a project.
pub(in crate::service) fn results(context: &ProjectContext, settings: &Settings) -> ResultCache {
    let bytes = u64::from(settings.cache.max_mib) << 20;
    ResultCache::new(&context.state_dir, bytes, context.clock().clone())
}

/// The use of stored results in a run; `None` if no step has `cache`.
pub(super) fn of_run(
    context: &ProjectContext,
    settings: &Settings,
    frozen: &Frozen,
    plan: &Plan,
) -> Option<Arc<StepCache>> {
    let results = results(context, settings);
    // Another run may have been killed while it stored a result.
    results.sweep();
    let plans = plan.with_children();
    let mut steps = plans.iter().flat_map(|plan| plan.steps());
    steps.find(|planned| planned.step.details().cache.is_some())?;
    let CacheUse { off, refresh } = frozen.cache.clone();
    let models = match &frozen.script {
        Some(script) => format!("script {}", Digest::of(&script.text)),
        None => format!("{} {}", frozen.model.as_deref().unwrap_or(""), frozen.tiers),
    };
    let variables = &context.environment.variables;
    let passed = settings
        .env
        .pass
        .iter()
        .filter_map(|name| Some((name.clone(), variables.get(name)?.clone())));
    let options = CacheOptions { off, refresh, models, passed: passed.collect() };
    Some(Arc::new(StepCache::new(Arc::new(results), options)))
}

/// Refuses the name of a step to refresh that no step of the run or of its child runs has.
pub(super) fn require_steps(plan: &Plan, cache: &CacheUse) -> Result<(), ServiceError> {
    let plans = plan.with_children();
    let steps = || plans.iter().flat_map(|plan| plan.steps()).map(|planned| &planned.step);
    for name in &cache.refresh {
        let id = name.split('[').next().unwrap_or(name);
        let Some(step) = steps().find(|step| step.id.as_str() == id) else {
            let known = steps().map(|step| step.id.to_string());
            return Err(ServiceError::unknown(ResourceKind::Step, name, known));
        };
        if steps().filter(|step| step.id.as_str() == id).all(|step| step.details().cache.is_none())
        {
            let code = kb_base::diagnostic::Code::NO_EFFECT;
            let message =
                format!("the step `{}` has no `cache`, so it has nothing to refresh", step.id);
            let failure = kb_base::value::Failure::new(code, message);
            return Err(ServiceError::refused(
                failure.help("remove `--refresh`; the step always runs"),
            ));
        }
    }
    Ok(())
}
