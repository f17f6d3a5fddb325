//! The memory of the project for a run.

use super::ProjectContext;
use kb_base::value::RunId;
use kb_core::redaction::Redactor;
use kb_engine::inspect::Frozen;
use kb_engine::journal::Journal;
use kb_host::tool::RunMemory;
use kb_language::definition::{MemorySettings, Settings};
use kb_memory::Limits;
use std::sync::Arc;

/// How many runs above or before a run are followed.
const MOST: usize = 64;

/// The memory, if the settings switch it on. One that cannot be used stops no run: its tools say so. Tests of playbooks
/// have none.
pub(super) fn of_run(
    context: &ProjectContext,
    settings: &Settings,
    frozen: &Frozen,
    journal: &dyn Journal,
    redactor: &Arc<Redactor>,
) -> Option<Arc<RunMemory>> {
    if !settings.memory.enabled || context.doubles.clock.is_some() {
        return None;
    }
    let memory = RunMemory::open(
        (&context.state_dir, &context.root),
        root_of(frozen, journal),
        (memory_limits(&settings.memory), settings.memory.max_tokens as usize),
        redactor.clone(),
        context.run_clock(),
    );
    match memory {
        Ok(memory) => Some(Arc::new(memory)),
        Err(error) => {
            tracing::warn!(%error, "the run continues without memory");
            None
        }
    }
}

/// How much is stored, and how long.
pub(in crate::service) fn memory_limits(settings: &MemorySettings) -> Limits {
    Limits { max_entries: settings.max_entries as usize, archive_after: settings.archive_after }
}

/// The first of the runs that started this one or that it continues; `None` if it is the first.
fn root_of(frozen: &Frozen, journal: &dyn Journal) -> Option<RunId> {
    let above = |frozen: &Frozen| {
        let parent = frozen.parent.as_ref().map(|parent| parent.run.clone());
        parent.or_else(|| frozen.base.as_ref().map(|base| base.run.clone()))
    };
    let mut root = above(frozen)?;
    for _ in 0..MOST {
        match Frozen::of_run(journal, &root).ok().and_then(|frozen| above(&frozen)) {
            Some(next) => root = next,
            None => break,
        }
    }
    Some(root)
}
