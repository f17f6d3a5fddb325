//! The items of `forEach` and `matrix` steps, as one row for each step: how many are done, run and failed, and
//! which failed.

use super::table::plain;
use kb_core::wire::{Body, Event, InstanceRef, StepStatus};
use std::collections::{BTreeMap, BTreeSet};

/// The number of failed items that are named.
pub(super) const NAMED: usize = 5;

/// The items of all steps of a run, folded from its events.
#[derive(Debug, Default)]
pub(super) struct ItemGroups {
    groups: BTreeMap<String, Group>,
}

/// The items of one step.
#[derive(Debug, Default)]
struct Group {
    total: usize,
    running: BTreeSet<String>,
    ended: BTreeMap<String, StepStatus>,
}

/// The step of an event that is about one of its items.
pub(super) fn step_of_item(place: &InstanceRef) -> Option<&str> {
    let step = place.step.as_str();
    (*place.instance != *step).then_some(step)
}

/// The step of an item by its name.
pub(super) fn step_of(instance: &str) -> Option<&str> {
    instance.strip_suffix(']')?.split_once('[').map(|(step, _)| step)
}

/// Whether an event is one of those that are reported of all items of a step together: its start and its end.
pub(super) fn is_grouped(event: &Event) -> bool {
    let is_item = event.place.as_ref().is_some_and(|place| step_of_item(place).is_some());
    let body = &event.body;
    is_item
        && matches!(body, Body::StepStart { .. } | Body::AttemptEnd { .. } | Body::StepEnd { .. })
}

impl ItemGroups {
    /// Adds the next event.
    pub(super) fn add(&mut self, event: &Event) {
        if matches!(event.body, Body::RunResume { .. }) {
            self.groups.values_mut().for_each(|group| group.running.clear());
        }
        let Some(place) = &event.place else { return };
        if let Body::StepReset { closure, .. } = &event.body {
            closure.iter().for_each(|name| self.reset(name));
        }
        if let Body::StepExpanded { count, .. } = &event.body {
            self.groups.entry(place.step.to_string()).or_default().total = *count;
        }
        let Some(step) = step_of_item(place) else { return };
        let group = self.groups.entry(step.to_owned()).or_default();
        let item = place.instance.to_string();
        match &event.body {
            Body::StepStart { .. } => {
                group.ended.remove(&item);
                group.running.insert(item);
            }
            Body::AttemptEnd { .. } | Body::StepWaiting { .. } => {
                group.running.remove(&item);
            }
            Body::StepEnd { status, .. } => {
                group.running.remove(&item);
                group.ended.insert(item, *status);
            }
            _ => {}
        }
    }

    fn reset(&mut self, name: &str) {
        self.groups.remove(name);
        if let Some(group) = step_of(name).and_then(|step| self.groups.get_mut(step)) {
            group.ended.remove(name);
        }
    }

    /// Such as `12/150 done · 4 running · 2 failed: b, c`; `None` for a step without items.
    pub(super) fn text(&self, step: &str) -> Option<String> {
        let group = self.groups.get(step)?;
        let done = group.ended.values().filter(|status| status.is_done()).count();
        let mut parts = vec![format!("{done}/{} done", group.total)];
        if !group.running.is_empty() {
            parts.push(format!("{} running", group.running.len()));
        }
        let failed: Vec<&String> = group
            .ended
            .iter()
            .filter(|(_, status)| **status == StepStatus::Failed)
            .map(|(name, _)| name)
            .collect();
        if !failed.is_empty() {
            parts.push(format!("{} failed: {}", failed.len(), names(&failed)));
        }
        Some(parts.join(" · "))
    }
}

/// The first names of items, in order, without that of their step, and the number of the others.
pub(super) fn names<S: AsRef<str>>(items: &[S]) -> String {
    let key = |item: &S| {
        let name = item.as_ref();
        let key = name.split_once('[').and_then(|(_, key)| key.strip_suffix(']'));
        plain(key.unwrap_or(name))
    };
    let mut keys: Vec<String> = items.iter().map(key).collect();
    keys.sort_by_cached_key(|key| (key.parse::<u64>().unwrap_or(u64::MAX), key.clone()));
    let mut shown: Vec<String> = keys.into_iter().take(NAMED).collect();
    if items.len() > NAMED {
        shown.push(format!("and {} more", items.len() - NAMED));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_named_by_their_key_and_many_are_counted() {
        assert_eq!(names(&["a[x/y.rs]", "a[10]", "a[2]"]), "2, 10, x/y.rs");
        let many: Vec<String> = (1..=7).map(|n| format!("a[{n}]")).collect();
        assert_eq!(names(&many), "1, 2, 3, 4, 5, and 2 more");
        assert_eq!((step_of("a[b[c]]"), step_of("a")), (Some("a"), None));
    }
}
