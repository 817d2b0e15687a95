//! Cycles of a graph, and the graph of a folder's subtrees.

use std::collections::BTreeSet;

use crate::edges::Edges;
use crate::read::Crate;

/// The groups of nodes that reach each other.
pub(crate) fn cycles(edges: &Edges) -> Vec<Vec<usize>> {
    let nodes: BTreeSet<usize> = edges.iter().flat_map(|(from, to)| to.iter().copied().chain([*from])).collect();
    let reached: Vec<(usize, BTreeSet<usize>)> = nodes.iter().map(|node| (*node, reachable(edges, *node))).collect();
    let mut seen = BTreeSet::new();
    let mut cycles = Vec::new();
    for (node, reach) in &reached {
        if seen.contains(node) || !reach.contains(node) {
            continue;
        }
        let cycle: Vec<usize> = reached
            .iter()
            .filter(|(other, back)| reach.contains(other) && back.contains(node))
            .map(|(other, _)| *other)
            .collect();
        seen.extend(cycle.iter().copied());
        cycles.push(cycle);
    }
    cycles
}

fn reachable(edges: &Edges, from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        for next in edges.get(&node).into_iter().flatten() {
            if reached.insert(*next) {
                open.push(*next);
            }
        }
    }
    reached
}

/// The edges between the nodes of a cycle.
pub(crate) fn inner_edges(edges: &Edges, cycle: &[usize]) -> Vec<(usize, usize)> {
    let inner = |from: &usize| {
        edges.get(from).into_iter().flatten().filter(|to| cycle.contains(to)).copied().collect::<Vec<_>>()
    };
    cycle.iter().flat_map(|from| inner(from).into_iter().map(|to| (*from, to))).collect()
}

/// The graph of a module's children, each standing for its whole subtree.
pub(crate) fn fold(parsed: &Crate, parent: usize, edges: &Edges) -> Edges {
    let mut folded = Edges::new();
    for (from, targets) in edges {
        for to in targets {
            if let (Some(a), Some(b)) = (child_of(parsed, parent, *from), child_of(parsed, parent, *to))
                && a != b
            {
                folded.entry(a).or_default().insert(b);
            }
        }
    }
    folded
}

/// The edges that lead from one of some subtrees to another.
pub(crate) fn edges_between(parsed: &Crate, roots: &[usize], edges: &Edges) -> Vec<(usize, usize)> {
    let root = |module: usize| roots.iter().find(|root| is_within(parsed, module, **root));
    let all = edges.iter().flat_map(|(from, targets)| targets.iter().map(|to| (*from, *to)));
    all.filter(|(from, to)| matches!((root(*from), root(*to)), (Some(a), Some(b)) if a != b)).collect()
}

/// The child of a module in whose subtree another module is.
fn child_of(parsed: &Crate, parent: usize, module: usize) -> Option<usize> {
    let above = parsed.modules[module].parent?;
    if above == parent { Some(module) } else { child_of(parsed, parent, above) }
}

fn is_within(parsed: &Crate, module: usize, root: usize) -> bool {
    module == root || parsed.modules[module].parent.is_some_and(|above| is_within(parsed, above, root))
}
