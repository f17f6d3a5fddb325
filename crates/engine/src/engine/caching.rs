//! `cache` of a step, rendered for an attempt.

use super::attempt::Attempt;
use super::scope::RunScope;
use kb_attempt::CacheRequest;
use kb_core::evidence::Record;
use kb_language::definition::Step;
use kb_language::expression::{EvalError, Template};

/// The rendered `cache` of a step; `None` without one. Later attempts and iterations do their work, and
/// so does an attempt that has started it before a resume. One that had only taken a stored result then
/// may take it again.
pub(super) fn request(
    scope: &RunScope<'_>,
    step: &Step,
    work: Attempt,
    history: &[Record],
) -> Result<Option<CacheRequest>, EvalError> {
    let Some(cache) = &step.details().cache else { return Ok(None) };
    let rendered = |globs: &Vec<Template>| -> Result<Vec<String>, EvalError> {
        globs.iter().map(|glob| glob.render(scope)).collect()
    };
    let is_work = |record: &Record| !matches!(record, Record::CacheHit(_) | Record::Note(_));
    Ok(Some(CacheRequest {
        definition: scope.plan.playbook().id.to_string(),
        key: cache.key.as_ref().map(|key| key.render(scope)).transpose()?,
        inputs: cache.inputs.as_ref().map(rendered).transpose()?,
        outputs: rendered(&cache.outputs)?,
        ttl: cache.ttl,
        scope: cache.scope,
        may_take: (work.attempt, work.iteration) == (1, 1) && !history.iter().any(is_work),
    }))
}
