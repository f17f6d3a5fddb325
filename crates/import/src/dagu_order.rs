//! The steps of a Dagu workflow and their order.

use super::dagu_continue::ContinueOn;
use super::draft::{Draft, step_id};
use super::fields::{Fields, words};
use kb_language::definition::Positioned;
use std::collections::{BTreeMap, BTreeSet};

/// The steps with their ids: a list, or a map by name.
pub(super) fn named(steps: &Positioned) -> Vec<(String, &Positioned)> {
    if steps.is_map() {
        return steps.entries().iter().map(|(id, _, step)| (step_id(id), step)).collect();
    }
    let id = |(index, step): (usize, &Positioned)| {
        let fields = Fields::ahead(step);
        let written = fields.text("id").or_else(|| fields.text("name"));
        written.map_or_else(|| format!("step-{}", index + 1), |text| step_id(&text))
    };
    steps.items().iter().enumerate().map(|(index, step)| (id((index, step)), step)).collect()
}

/// How the steps of a workflow are ordered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// By their `depends`.
    Graph,
    /// One after another, by the key `order`.
    Sequential,
    /// A step without `depends` waits for the one above it.
    Chain,
    /// That of a handler, which runs after the others.
    Handler,
}

/// Takes `type`. Without it, and with `chain`, Dagu runs a step without `depends` after the one above it.
pub(super) fn order(fields: &Fields<'_>, draft: &mut Draft) -> Order {
    let kind = fields.take("type").map(|kind| (kind.line, words(kind, "type", draft)));
    let is_chain = match &kind {
        None => true,
        Some((_, kind)) if kind.as_deref() == Some("chain") => true,
        Some((_, kind)) if kind.as_deref() == Some("graph") => false,
        Some((line, other)) => {
            let other = other.as_deref().unwrap_or_default();
            draft.fails(*line, format!("`type: {other}` is not mapped"));
            false
        }
    };
    let Some(steps) = fields.peek("steps").filter(|_| is_chain) else { return Order::Graph };
    let all = named(steps);
    let ordered = |(_, step): &(String, &Positioned)| Fields::ahead(step).peek("depends").is_some();
    if all.iter().any(ordered) {
        let text =
            "without `type: graph`, Dagu runs a step without `depends` after the one above it";
        draft.hint(steps.line, text);
        return Order::Chain;
    }
    if all.len() > 1 {
        draft.set("order", "sequential");
        let text =
            "without `type` and `depends`, Dagu runs steps one after another: `order: sequential`";
        draft.hint(steps.line, text);
    }
    Order::Sequential
}

/// What steps that follow others need to know of them.
#[derive(Default)]
pub(super) struct Before {
    /// The steps that others wait for in place of these.
    ends: BTreeMap<String, String>,
    /// The ids of steps by the names that `depends` can have.
    names: BTreeMap<String, String>,
    /// The steps after which others run also if they were skipped.
    skippable: BTreeSet<String>,
}

impl Before {
    pub(super) fn of(steps: &Positioned) -> Before {
        let mut found = Before::default();
        for (id, step) in named(steps) {
            let fields = Fields::ahead(step);
            found.names.extend(fields.text("name").map(|name| (step_id(&name), id.clone())));
            let on = ContinueOn::ahead(&fields);
            if on.skipped {
                found.skippable.insert(id.clone());
            }
            if let Some(end) = on.end(&id) {
                found.ends.insert(id, end);
            }
        }
        found
    }

    /// The id of the step that a text of `depends` means.
    pub(super) fn id(&self, written: &str) -> String {
        let id = step_id(written);
        self.names.get(&id).cloned().unwrap_or(id)
    }

    /// The steps to wait for, and, if some of them may be skipped, the condition that the others were not.
    pub(super) fn waits(&self, on: &[String]) -> (Vec<String>, Option<Vec<String>>) {
        let end = |id: &String| self.ends.get(id).unwrap_or(id).clone();
        let needed = on.iter().filter(|id| !self.skippable.contains(*id)).map(end).collect();
        let may_skip = on.iter().any(|id| self.skippable.contains(id));
        (on.iter().map(end).collect(), may_skip.then_some(needed))
    }
}
