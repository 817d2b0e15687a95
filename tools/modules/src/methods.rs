//! Calls of methods that an `impl` block in another module defines.

use std::collections::{BTreeMap, BTreeSet};

use crate::read::Crate;
use crate::resolve::{Definition, definition};

/// A module that calls a method of a type which another module defines.
#[derive(Debug)]
pub(crate) struct MethodCall<'a> {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) name: &'a str,
}

/// Finds the calls through `self` and `Self` that leave their module.
///
/// What the own module defines for the type is taken to be what is called: other blocks may be for other type arguments.
pub(crate) fn calls(parsed: &Crate) -> Vec<MethodCall<'_>> {
    let mut defined: BTreeMap<(Definition<'_>, &str), BTreeSet<usize>> = BTreeMap::new();
    let mut called = BTreeSet::new();
    for (from, module) in parsed.modules.iter().enumerate() {
        for block in &module.impls {
            let Some(of) = definition(parsed, from, &block.path) else { continue };
            for name in &block.defined {
                defined.entry((of, name)).or_default().insert(from);
            }
            called.extend(block.called.iter().map(|name| (from, of, name.as_str())));
        }
    }
    let mut calls = Vec::new();
    for (from, of, name) in called {
        let modules = defined.get(&(of, name)).filter(|modules| !modules.contains(&from));
        calls.extend(modules.into_iter().flatten().map(|to| MethodCall { from, to: *to, name }));
    }
    calls
}
