//! The graph of a plan, with the status of each step.

use super::format::{duration, part, short};
use super::layout;
use kb_core::wire::{InstanceView, RunView, StepStatus};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A graph for the templates.
#[derive(Debug, Serialize)]
pub(super) struct Graph {
    width: usize,
    height: usize,
    nodes: Vec<Node>,
    paths: Vec<Edge>,
}

#[derive(Debug, Serialize)]
struct Node {
    short: String,
    detail: String,
    status: StepStatus,
    x: usize,
    y: usize,
    href: String,
    selected: bool,
    /// Whether it stands for the items of a `forEach`.
    many: bool,
}

#[derive(Debug, Serialize)]
struct Edge {
    d: String,
    /// Whether the later step runs without the earlier one too.
    weak: bool,
}

/// Draws a graph in the form of `kb playbook graph --format json`. With a run, each box has the status of
/// its step, and leads to it.
pub(super) fn graph(plan: &Value, run: Option<&RunView>, selected: Option<&str>) -> Graph {
    let list = |key: &str| plan[key].as_array().cloned().unwrap_or_default();
    let (nodes, edges) = (list("nodes"), list("edges"));
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let ids: Vec<String> = nodes.iter().map(|node| text(node, "id")).collect();
    let number: BTreeMap<&str, usize> =
        ids.iter().enumerate().map(|(index, id)| (id.as_str(), index)).collect();
    let pairs: Vec<(usize, usize, bool)> = edges
        .iter()
        .filter_map(|edge| {
            let at = |key: &str| number.get(edge[key].as_str()?).copied();
            Some((at("from")?, at("to")?, edge["strength"] != "needs"))
        })
        .collect();
    let plain: Vec<(usize, usize)> = pairs.iter().map(|(from, to, _)| (*from, *to)).collect();
    let last = nodes.iter().enumerate().filter(|(_, node)| node["finally"] == true);
    let last: BTreeSet<usize> = last.map(|(index, _)| index).collect();
    let drawing = layout::layout(ids.len(), &plain, &last);
    let mut of_step: BTreeMap<&str, Vec<&InstanceView>> = BTreeMap::new();
    for instance in run.into_iter().flat_map(|run| &run.steps) {
        of_step.entry(instance.step.as_str()).or_default().push(instance);
    }
    let boxes = nodes.iter().zip(&drawing.boxes).map(|(node, (x, y))| {
        let id = text(node, "id");
        let instances = of_step.get(id.as_str()).map_or(&[] as &[_], Vec::as_slice);
        let (status, detail) = state(instances, &text(node, "kind"));
        let href = run.map(|run| format!("/runs/{}?step={}#step", run.run, part(&id)));
        Node {
            short: short(&text(node, "label"), 20),
            selected: selected.is_some_and(|name| name.split('[').next() == Some(id.as_str())),
            many: instances.len() > 1,
            detail: short(&detail, 26),
            href: href.unwrap_or_default(),
            status,
            x: *x,
            y: *y,
        }
    });
    let boxes = boxes.collect();
    let paths = drawing.paths.into_iter().zip(&pairs);
    let paths = paths.map(|(d, (_, _, weak))| Edge { d, weak: *weak }).collect();
    Graph { width: drawing.size.0, height: drawing.size.1, nodes: boxes, paths }
}

/// A box of a graph without states: a name, a line about it, and where it leads.
pub(super) struct Linked {
    pub(super) name: String,
    pub(super) detail: String,
    /// An address; empty for a box that leads nowhere.
    pub(super) href: String,
}

/// Draws boxes that belong together. `pairs` are numbers of boxes; the first one stands on the left.
pub(super) fn linked(boxes: &[Linked], pairs: &[(usize, usize)]) -> Graph {
    let drawing = layout::layout(boxes.len(), pairs, &BTreeSet::new());
    let drawn = boxes.iter().zip(&drawing.boxes).map(|(own, (x, y))| Node {
        short: short(&own.name, 20),
        detail: short(&own.detail, 26),
        status: StepStatus::Pending,
        x: *x,
        y: *y,
        href: own.href.clone(),
        selected: false,
        many: false,
    });
    let nodes = drawn.collect();
    let paths = drawing.paths.into_iter().map(|d| Edge { d, weak: false }).collect();
    Graph { width: drawing.size.0, height: drawing.size.1, nodes, paths }
}

/// The status of a step and a line about it. The items of a `forEach` are one box.
fn state(instances: &[&InstanceView], kind: &str) -> (StepStatus, String) {
    let Some(step) = instances.first() else { return (StepStatus::Pending, kind.to_owned()) };
    let items = &instances[1..];
    if !items.is_empty() {
        let ended = items.iter().filter(|item| item.ended_at.is_some()).count();
        return (step.status, format!("{kind} · {ended}/{} items", items.len()));
    }
    let time = step.duration_ms.map(duration).unwrap_or_else(|| kind.to_owned());
    let gate = step.verdict.map(|verdict| format!(" · {verdict}"));
    (step.status, format!("{time}{}", gate.unwrap_or_default()))
}
