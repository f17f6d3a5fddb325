//! Runs that continue: work that was undone since is done again, and what was edited is judged again or named.

use super::keeping::ProjectFiles;
use crate::service::ServiceError;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, RunId};
use kb_core::run::InstanceIx;
use kb_engine::engine::{RETRIED, StartMode};
use kb_engine::inspect::Earlier;
use kb_engine::journal::Journal;
use std::path::Path;

/// A retry from a step or item, or from all steps that did not succeed, from those whose change of a file was undone, and from
/// gates before which a file was edited. The reason names each of these files, and those of other verdicts.
pub(super) fn with_undone(
    journal: &dyn Journal,
    run: &RunId,
    root: &Path,
    from: Option<InstanceIx>,
) -> Result<StartMode, ServiceError> {
    let earlier = Earlier::read(journal, run, u64::MAX)?;
    let now = ProjectFiles::of(root);
    let undone = earlier.undone_files(journal, &now);
    let edited = earlier.edited_files(journal, &now);
    if undone.is_empty() && edited.is_empty() {
        return Ok(StartMode::retry(from.into_iter().collect(), false));
    }
    let mut from = match from {
        Some(from) => vec![from],
        None => earlier.state.unsuccessful(&earlier.plan),
    };
    let mut listed = Vec::new();
    for (ix, path) in &undone {
        let step = earlier.state.key(&earlier.plan, *ix);
        listed.push(format!("the change of `{path}` by step `{step}` was undone"));
        from.push(*ix);
    }
    for (step, path) in &edited {
        let id = &earlier.plan.step(*step).step.id;
        // Work that followed a gate is not repeated because of an edit.
        let (ix, again) = (InstanceIx(step.0), earlier.is_gate(*step) && !earlier.is_used(*step));
        if undone.contains_key(&ix) {
            continue;
        }
        let says = if again { "so it judges again" } else { "and its verdict is older" };
        listed.push(format!("`{path}` was edited after the gate of `{id}`, {says}"));
        from.extend(again.then_some(ix));
    }
    from.sort();
    from.dedup();
    let reason = format!("{RETRIED}; {}", listed.join(", "));
    Ok(StartMode::Retry { from, alone: false, reason })
}

/// A retry of one step alone. Refused if a change of another step was undone: its result would be kept.
pub(super) fn alone(
    journal: &dyn Journal,
    run: &RunId,
    root: &Path,
    only: InstanceIx,
) -> Result<StartMode, ServiceError> {
    let earlier = Earlier::read(journal, run, u64::MAX)?;
    let step = |ix: InstanceIx| earlier.state.instance(ix).step;
    let undone = earlier.undone_files(journal, &ProjectFiles::of(root));
    let Some((ix, path)) = undone.into_iter().find(|(ix, _)| step(*ix) != step(only)) else {
        return Ok(StartMode::retry(vec![only], true));
    };
    let message = format!(
        "the change of `{path}` by step `{}` was undone since run `{run}` ended, and `--only` would keep its result",
        earlier.state.key(&earlier.plan, ix)
    );
    let help = format!("restore the file; or `kb run retry {run}`, which makes the change again");
    Err(ServiceError::refused(Failure::new(Code::NOT_RESUMABLE, message).help(help)))
}

/// Refuses to continue a run that has not ended if a change that it made was undone since: it would succeed without it.
pub(super) fn require_none(
    journal: &dyn Journal,
    run: &RunId,
    root: &Path,
) -> Result<(), ServiceError> {
    let earlier = Earlier::read(journal, run, u64::MAX)?;
    let undone = earlier.undone_since_it_stopped(journal, &ProjectFiles::of(root));
    let Some((step, path)) = undone else { return Ok(()) };
    let message = format!(
        "the change of `{path}` by step `{step}` was undone since run `{run}` stopped, and it would continue without it"
    );
    let help = format!(
        "restore the file, then resume; or `kb run cancel {run}` and `kb run retry {run}`, which makes the change again"
    );
    Err(ServiceError::refused(Failure::new(Code::NOT_RESUMABLE, message).help(help)))
}
