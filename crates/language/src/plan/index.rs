//! Lookup of steps by id.

use super::StepIx;
use crate::definition::Step;
use std::sync::Arc;

/// Steps by id, sorted by a hash: ids of one definition often share a long prefix, and comparing
/// hashes avoids reading it.
#[derive(Debug, Clone, Default)]
pub(super) struct StepIndex(Vec<(u32, StepIx)>);

impl StepIndex {
    /// Indexes steps; of two with the same id, the last.
    pub(super) fn of(steps: &[&Arc<Step>]) -> StepIndex {
        let numbered = steps.iter().enumerate();
        let mut index: Vec<(u32, StepIx)> =
            numbered.map(|(i, step)| (hash(step.id.as_str()), StepIx(i as u32))).collect();
        let id = |ix: StepIx| steps[ix.at()].id.as_str();
        index.sort_by(|a, b| (a.0, id(a.1), b.1).cmp(&(b.0, id(b.1), a.1)));
        StepIndex(index)
    }

    /// Finds the step with an id; `id_of` returns the id of a step.
    pub(super) fn find<'s>(&self, id: &str, id_of: impl Fn(StepIx) -> &'s str) -> Option<StepIx> {
        let sought = (hash(id), id);
        let at = self.0.partition_point(|(hash, ix)| (*hash, id_of(*ix)) < sought);
        let (found, ix) = *self.0.get(at)?;
        (found == sought.0 && id_of(ix) == id).then_some(ix)
    }
}

/// FNV-1a, which is the same in every process.
fn hash(id: &str) -> u32 {
    id.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
