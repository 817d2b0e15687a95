//! Which module uses which.

use std::collections::{BTreeMap, BTreeSet};

use crate::methods;
use crate::read::Crate;
use crate::resolve::used;

/// For each module, the modules that define what it uses.
pub(crate) type Edges = BTreeMap<usize, BTreeSet<usize>>;

/// The edges of a crate: by its paths, and by the methods that it calls.
pub(crate) fn edges(parsed: &Crate) -> Edges {
    let mut edges = Edges::new();
    for from in 0..parsed.modules.len() {
        for path in &parsed.modules[from].paths {
            if let Some(to) = used(parsed, from, path) {
                edges.entry(from).or_default().insert(to);
            }
        }
    }
    for call in methods::calls(parsed) {
        edges.entry(call.from).or_default().insert(call.to);
    }
    edges
}

/// A path or a method by which one module uses another.
pub(crate) fn example(parsed: &Crate, from: usize, to: usize) -> String {
    let paths = &parsed.modules[from].paths;
    if let Some(path) = paths.iter().find(|path| used(parsed, from, path) == Some(to)) {
        return path.join("::");
    }
    let call = methods::calls(parsed).into_iter().find(|call| (call.from, call.to) == (from, to));
    call.map_or_else(String::new, |call| format!("self.{}", call.name))
}
