//! Topological order and cycles.

use super::dag::{Graph, node, step};
use super::{PlanStep, StepIx};
use petgraph::Direction::{Incoming, Outgoing};
use petgraph::algo::kosaraju_scc;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// A topological order: `steps` before `finally`, otherwise file order where the graph permits it. Steps
/// in a cycle and steps that depend on one are left out.
pub(super) fn topological(steps: &[PlanStep], graph: &Graph) -> Vec<StepIx> {
    let mut waits: Vec<u32> = graph
        .node_indices()
        .map(|n| graph.neighbors_directed(n, Incoming).count() as u32)
        .collect();
    // A `finally` step without dependencies must not come before a main step that still waits.
    let rank = |ix: StepIx| Reverse((steps[ix.at()].is_finally(), ix));
    let mut free: BinaryHeap<_> =
        (0..steps.len()).filter(|&i| waits[i] == 0).map(|i| rank(StepIx(i as u32))).collect();
    let mut order = Vec::with_capacity(steps.len());
    while let Some(Reverse((_, ix))) = free.pop() {
        order.push(ix);
        for next in graph.neighbors_directed(node(ix), Outgoing) {
            waits[next.index()] -= 1;
            if waits[next.index()] == 0 {
                free.push(rank(step(next)));
            }
        }
    }
    order
}

/// For each strongly connected component, one shortest cycle through its first step. Each step waits
/// for the next one, and the last for the first.
pub(super) fn cycles(graph: &Graph) -> Vec<Vec<StepIx>> {
    let mut knots: Vec<Vec<StepIx>> = kosaraju_scc(graph)
        .into_iter()
        .map(|knot| {
            let mut knot: Vec<StepIx> = knot.into_iter().map(step).collect();
            knot.sort();
            knot
        })
        .filter(|knot| knot.len() > 1 || graph.contains_edge(node(knot[0]), node(knot[0])))
        .collect();
    knots.sort();
    knots.iter().map(|knot| shortest_cycle(graph, knot)).collect()
}

/// Breadth-first search from the first step along its dependencies back to itself.
fn shortest_cycle(graph: &Graph, knot: &[StepIx]) -> Vec<StepIx> {
    let start = knot[0];
    let mut came_from: BTreeMap<StepIx, StepIx> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        for on in graph.neighbors_directed(node(at), Incoming).map(step) {
            if on == start {
                return walk_back(&came_from, start, at);
            }
            if knot.binary_search(&on).is_ok() && !came_from.contains_key(&on) {
                came_from.insert(on, at);
                queue.push_back(on);
            }
        }
    }
    knot.to_vec()
}

fn walk_back(came_from: &BTreeMap<StepIx, StepIx>, start: StepIx, last: StepIx) -> Vec<StepIx> {
    let mut cycle = vec![last];
    let mut at = last;
    while at != start {
        at = came_from[&at];
        cycle.push(at);
    }
    cycle.reverse();
    cycle
}
