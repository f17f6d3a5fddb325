//! The items of a step that `kb run show` counts in place of a row for each.

use crate::cli::render::table::plain;
use kb_core::wire::{InstanceView, StepStatus};
use std::collections::{BTreeMap, BTreeSet};

/// The most items of a step that all have a row.
const ROWS: usize = 20;

/// The items without a row, by step and status.
#[derive(Default)]
pub(super) struct Folded(BTreeMap<String, BTreeMap<StepStatus, usize>>);

impl Folded {
    pub(super) fn of(steps: &[InstanceView]) -> Folded {
        let mut items: BTreeMap<&str, usize> = BTreeMap::new();
        steps.iter().filter(is_item).for_each(|item| *items.entry(&item.step).or_default() += 1);
        let many: BTreeSet<&str> =
            items.into_iter().filter(|(_, count)| *count > ROWS).map(|(step, _)| step).collect();
        let mut folded: BTreeMap<String, BTreeMap<StepStatus, usize>> = BTreeMap::new();
        for item in steps.iter().filter(|item| is_item(item) && is_unimportant(item)) {
            if many.contains(item.step.as_str()) {
                let counts = folded.entry(item.step.clone()).or_default();
                *counts.entry(item.status).or_default() += 1;
            }
        }
        Folded(folded)
    }

    /// Whether a step has no row.
    pub(super) fn hides(&self, step: &InstanceView) -> bool {
        is_item(&step) && is_unimportant(step) && self.0.contains_key(&step.step)
    }

    /// Such as `150 items: 148 succeeded, 2 failed`, of a step whose items have no rows.
    pub(super) fn text(&self, step: &InstanceView) -> Option<String> {
        let counts = self.0.get(&step.step).filter(|_| !is_item(&step))?;
        let all: Vec<String> = counts.iter().map(|(status, n)| format!("{n} {status}")).collect();
        let count: usize = counts.values().sum();
        Some(plain(&format!("{count} items without a row: {}", all.join(", "))))
    }
}

fn is_item(step: &&InstanceView) -> bool {
    step.instance != step.step
}

/// Whether an item neither failed the run nor needs attention.
fn is_unimportant(item: &InstanceView) -> bool {
    item.tolerated
        || matches!(
            item.status,
            StepStatus::Succeeded | StepStatus::Skipped | StepStatus::Pending | StepStatus::Ready
        )
}
