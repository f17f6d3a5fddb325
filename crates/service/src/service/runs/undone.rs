//! Retries with the steps whose change of a file was undone since.

use super::keeping::ProjectFiles;
use crate::service::ServiceError;
use kb_base::value::RunId;
use kb_core::run::InstanceIx;
use kb_engine::engine::{RETRIED, StartMode};
use kb_engine::inspect::Earlier;
use kb_engine::journal::Journal;
use std::path::Path;

/// A retry from a step or item, or from all steps that did not succeed, and from those whose change of a file was undone.
pub(super) fn with_undone(
    journal: &dyn Journal,
    run: &RunId,
    root: &Path,
    from: Option<InstanceIx>,
) -> Result<StartMode, ServiceError> {
    let earlier = Earlier::read(journal, run, u64::MAX)?;
    let undone = earlier.undone_files(journal, &ProjectFiles::of(root));
    if undone.is_empty() {
        return Ok(StartMode::retry(from.into_iter().collect(), false));
    }
    let mut from = match from {
        Some(from) => vec![from],
        None => earlier.state.unsuccessful(&earlier.plan),
    };
    from.extend(undone.keys());
    from.sort();
    from.dedup();
    let listed = undone.iter().map(|(ix, path)| {
        let step = earlier.state.key(&earlier.plan, *ix);
        format!("the change of `{path}` by step `{step}` was undone")
    });
    let reason = format!("{RETRIED}; {}", listed.collect::<Vec<_>>().join(", "));
    Ok(StartMode::Retry { from, alone: false, reason })
}
