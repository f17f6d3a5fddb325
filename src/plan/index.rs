use super::StepIx;
use crate::definition::Step;
use std::sync::Arc;

/// Steps by id. Sorted by a hash, because ids of one definition are long alike at their beginning,
/// and a search that compares texts would read most of each.
#[derive(Debug, Clone, Default)]
pub(super) struct StepIndex(Vec<(u32, StepIx)>);

impl StepIndex {
    /// Of these steps; of two with the same id the last.
    pub(super) fn of(steps: &[&Arc<Step>]) -> StepIndex {
        let numbered = steps.iter().enumerate();
        let mut index: Vec<(u32, StepIx)> =
            numbered.map(|(i, step)| (hash(step.id.as_str()), StepIx(i as u32))).collect();
        let id = |ix: StepIx| steps[ix.at()].id.as_str();
        index.sort_by(|a, b| (a.0, id(a.1), b.1).cmp(&(b.0, id(b.1), a.1)));
        StepIndex(index)
    }

    /// The step with that id; `id_of` says the id of each.
    pub(super) fn find<'s>(&self, id: &str, id_of: impl Fn(StepIx) -> &'s str) -> Option<StepIx> {
        let sought = (hash(id), id);
        let at = self.0.partition_point(|(hash, ix)| (*hash, id_of(*ix)) < sought);
        let (found, ix) = *self.0.get(at)?;
        (found == sought.0 && id_of(ix) == id).then_some(ix)
    }
}

/// FNV-1a: the same in every process, so that nothing depends on chance.
fn hash(id: &str) -> u32 {
    id.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
