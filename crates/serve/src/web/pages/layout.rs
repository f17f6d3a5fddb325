//! The layout of a graph: layers from left to right, ordered so that few edges cross. Pure.
//!
//! A node stands one layer after the last of its dependencies. Edges over several layers pass through
//! invisible nodes, so that they do not run through boxes. The order within the layers is improved by the
//! positions of the neighbours, a fixed number of times, so that the same graph always looks the same.

use std::collections::BTreeSet;

/// Width of a box.
pub(super) const WIDTH: usize = 184;
/// Height of a box.
pub(super) const HEIGHT: usize = 46;
const GAP_X: usize = 56;
const GAP_Y: usize = 16;
const MARGIN: usize = 8;
const SWEEPS: usize = 6;
/// Above this number of invisible nodes, long edges are drawn straight.
const MOST_INVISIBLE: usize = 20_000;

/// Where everything is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Drawing {
    /// Left upper corners of the boxes, by number of the node.
    pub(super) boxes: Vec<(usize, usize)>,
    /// The path of each edge, in the form of SVG.
    pub(super) paths: Vec<String>,
    /// Size of the whole.
    pub(super) size: (usize, usize),
}

/// Lays out a graph without cycles. `edges` are pairs of node numbers; the first one comes earlier. The nodes in `last`
/// stand behind all others.
pub(super) fn layout(nodes: usize, edges: &[(usize, usize)], last: &BTreeSet<usize>) -> Drawing {
    let mut layer = layers(nodes, edges);
    if last.len() < nodes {
        let others = (0..nodes).filter(|node| !last.contains(node));
        let behind = others.map(|node| layer[node] + 1).max().unwrap_or(0);
        let among = |(from, to): &&(usize, usize)| last.contains(from) && last.contains(to);
        let among: Vec<(usize, usize)> = edges.iter().filter(among).copied().collect();
        let own = layers(nodes, &among);
        last.iter().for_each(|node| layer[*node] = behind + own[*node]);
    }
    let mut layer_of = layer.clone();
    // The chain of node numbers that an edge passes, both ends included.
    let mut chains: Vec<Vec<usize>> = Vec::with_capacity(edges.len());
    let long: usize = edges.iter().map(|(a, b)| layer[*b].saturating_sub(layer[*a] + 1)).sum();
    for (from, to) in edges {
        let mut chain = vec![*from];
        if long <= MOST_INVISIBLE {
            for between in layer[*from] + 1..layer[*to] {
                chain.push(layer_of.len());
                layer_of.push(between);
            }
        }
        chain.push(*to);
        chains.push(chain);
    }
    let rows = order(&layer_of, &chains);
    let tallest = rows.iter().map(|row| extent(row, nodes)).max().unwrap_or(0);
    let mut place = vec![(0, 0); layer_of.len()];
    for (index, row) in rows.iter().enumerate() {
        let mut y = MARGIN + (tallest - extent(row, nodes)) / 2;
        for node in row {
            let x = MARGIN + index * (WIDTH + GAP_X);
            place[*node] = (x, y);
            y += height(*node, nodes) + GAP_Y;
        }
    }
    let paths = chains.iter().map(|chain| path(chain, &place, nodes)).collect();
    let columns = rows.len().max(1);
    let width = 2 * MARGIN + columns * WIDTH + (columns - 1) * GAP_X;
    place.truncate(nodes);
    Drawing { boxes: place, paths, size: (width, 2 * MARGIN + tallest) }
}

fn height(node: usize, nodes: usize) -> usize {
    if node < nodes { HEIGHT } else { 6 }
}

fn extent(row: &[usize], nodes: usize) -> usize {
    let boxes: usize = row.iter().map(|node| height(*node, nodes)).sum();
    boxes + row.len().saturating_sub(1) * GAP_Y
}

/// The layer of each node: the length of the longest chain that leads to it.
fn layers(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut waits = vec![0usize; nodes];
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (from, to) in edges {
        waits[*to] += 1;
        after[*from].push(*to);
    }
    let mut layer = vec![0; nodes];
    let mut ready: Vec<usize> = (0..nodes).filter(|node| waits[*node] == 0).collect();
    while let Some(node) = ready.pop() {
        for next in &after[node] {
            layer[*next] = layer[*next].max(layer[node] + 1);
            waits[*next] -= 1;
            if waits[*next] == 0 {
                ready.push(*next);
            }
        }
    }
    layer
}

/// The nodes of each layer from top to bottom.
fn order(layer_of: &[usize], chains: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let count = layer_of.iter().max().map_or(0, |last| last + 1);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (node, layer) in layer_of.iter().enumerate() {
        rows[*layer].push(node);
    }
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); layer_of.len()];
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); layer_of.len()];
    for pair in chains.iter().flat_map(|chain| chain.windows(2)) {
        before[pair[1]].push(pair[0]);
        after[pair[0]].push(pair[1]);
    }
    let mut position = vec![0.0f64; layer_of.len()];
    let number = |row: &[usize], position: &mut [f64]| {
        for (index, node) in row.iter().enumerate() {
            // Rows are centred, so that the middle of each is 0.
            position[*node] = index as f64 - (row.len() as f64 - 1.0) / 2.0;
        }
    };
    rows.iter().for_each(|row| number(row, &mut position));
    for sweep in 0..SWEEPS {
        let forward = sweep % 2 == 0;
        let neighbours = if forward { &before } else { &after };
        for step in 0..count {
            let row = &mut rows[if forward { step } else { count - 1 - step }];
            let wanted = |node: &usize| {
                let all = &neighbours[*node];
                let sum: f64 = all.iter().map(|other| position[*other]).sum();
                if all.is_empty() { position[*node] } else { sum / all.len() as f64 }
            };
            let mut keyed: Vec<(f64, usize)> = row.iter().map(|n| (wanted(n), *n)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            *row = keyed.into_iter().map(|(_, node)| node).collect();
            number(row, &mut position);
        }
    }
    rows
}

fn path(chain: &[usize], place: &[(usize, usize)], nodes: usize) -> String {
    let middle = |node: usize| place[node].1 + height(node, nodes) / 2;
    let (mut x, mut y) = (place[chain[0]].0 + WIDTH, middle(chain[0]));
    let mut text = format!("M{x} {y}");
    for node in &chain[1..] {
        let (to_x, to_y) = (place[*node].0, middle(*node));
        let bend = to_x.saturating_sub(x) / 2;
        text += &format!("C{} {y} {} {to_y} {to_x} {to_y}", x + bend, to_x - bend.min(to_x));
        (x, y) = (to_x, to_y);
        if *node >= nodes {
            // Through the column of boxes, in the free lane.
            x += WIDTH;
            text += &format!("H{x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(nodes: usize, seed: &mut u64) -> Vec<(usize, usize)> {
        let mut next = || {
            *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (*seed >> 33) as usize
        };
        let mut edges = Vec::new();
        for to in 1..nodes {
            for _ in 0..next() % 3 {
                edges.push((next() % to, to));
            }
        }
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    #[test]
    fn boxes_do_not_overlap_and_edges_lead_to_the_right() {
        let mut seed = 7;
        for nodes in [0, 1, 2, 5, 17, 60, 200] {
            let edges = random(nodes, &mut seed);
            let drawing = layout(nodes, &edges, &BTreeSet::new());
            assert_eq!((drawing.boxes.len(), drawing.paths.len()), (nodes, edges.len()));
            for (index, (x, y)) in drawing.boxes.iter().enumerate() {
                assert!(x + WIDTH <= drawing.size.0 && y + HEIGHT <= drawing.size.1);
                for (other_x, other_y) in &drawing.boxes[..index] {
                    assert!(x != other_x || y.abs_diff(*other_y) >= HEIGHT);
                }
            }
            for (from, to) in &edges {
                assert!(drawing.boxes[*from].0 + WIDTH < drawing.boxes[*to].0);
            }
            assert_eq!(
                drawing,
                layout(nodes, &edges, &BTreeSet::new()),
                "the same graph, the same drawing"
            );
        }
    }

    #[test]
    fn a_row_of_equal_chains_has_no_crossing() {
        // Two chains, declared in opposite orders: the sweeps pull them apart.
        let edges = [(0, 3), (1, 2), (2, 5), (3, 4)];
        let drawing = layout(6, &edges, &BTreeSet::new());
        let above = |a: usize, b: usize| drawing.boxes[a].1 < drawing.boxes[b].1;
        assert!(above(0, 1) == above(3, 2) && above(3, 2) == above(4, 5), "{drawing:?}");
    }

    #[test]
    fn what_runs_last_stands_behind_all_others() {
        let edges = [(0, 1), (1, 2), (0, 3), (3, 4)];
        let drawing = layout(5, &edges, &BTreeSet::from([3, 4]));
        let column = |node: usize| drawing.boxes[node].0;
        assert!(column(2) < column(3) && column(3) < column(4), "{drawing:?}");
        let alone = layout(2, &[(0, 1)], &BTreeSet::from([0, 1]));
        assert_eq!(alone, layout(2, &[(0, 1)], &BTreeSet::new()));
    }
}
