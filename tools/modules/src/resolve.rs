//! From the paths that a module uses to the modules that define what they name.

use crate::read::{Crate, Module};

/// An item of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Definition<'a> {
    module: usize,
    name: &'a str,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target<'a> {
    Item(Definition<'a>),
    Module(usize),
}

/// How many re-exports are followed before a ring of them is given up.
const MAX_DEPTH: usize = 32;

/// The module that defines what a path names, if it is another one. A module that is only named is not used yet.
pub(crate) fn used(parsed: &Crate, from: usize, path: &[String]) -> Option<usize> {
    match resolve(parsed, from, path, 0)? {
        Target::Item(item) if item.module != from => Some(item.module),
        _ => None,
    }
}

/// The item that a path names.
pub(crate) fn definition<'a>(parsed: &'a Crate, from: usize, path: &'a [String]) -> Option<Definition<'a>> {
    match resolve(parsed, from, path, 0)? {
        Target::Item(item) => Some(item),
        Target::Module(_) => None,
    }
}

fn resolve<'a>(parsed: &'a Crate, from: usize, path: &'a [String], depth: usize) -> Option<Target<'a>> {
    if depth > MAX_DEPTH {
        return None;
    }
    let (first, mut rest) = path.split_first()?;
    let mut target = match first.as_str() {
        "crate" => Target::Module(0),
        "self" => Target::Module(from),
        "super" => {
            let mut module = parsed.modules[from].parent?;
            while let Some((_, after)) = rest.split_first().filter(|(next, _)| *next == "super") {
                module = parsed.modules[module].parent?;
                rest = after;
            }
            Target::Module(module)
        }
        "Self" => return None,
        name => match member(parsed, from, name, depth) {
            Some(target) => target,
            None => return defined_above(parsed, from, name),
        },
    };
    for name in rest {
        match target {
            // What follows an item is part of it.
            Target::Item(_) => return Some(target),
            // A name that is not found is what a macro defines there.
            Target::Module(module) => {
                target = member(parsed, module, name, depth).unwrap_or(Target::Item(Definition { module, name }));
            }
        }
    }
    Some(target)
}

/// What a name means inside a module.
fn member<'a>(parsed: &'a Crate, module: usize, name: &'a str, depth: usize) -> Option<Target<'a>> {
    let found: &Module = &parsed.modules[module];
    if let Some(child) = found.children.get(name) {
        return Some(Target::Module(*child));
    }
    if found.items.contains(name) {
        return Some(Target::Item(Definition { module, name }));
    }
    let import =
        found.imports.iter().find(|import| import.name.as_deref() == Some(name) && !is_itself(&import.path, name));
    if let Some(import) = import {
        return resolve(parsed, module, &import.path, depth + 1);
    }
    let globs = found.imports.iter().filter(|import| import.name.is_none());
    globs.into_iter().find_map(|glob| match resolve(parsed, module, &glob.path, depth + 1)? {
        Target::Module(source) if source != module => exported(parsed, source, name, depth + 1),
        _ => None,
    })
}

/// What a glob import of a module brings under a name.
fn exported<'a>(parsed: &'a Crate, module: usize, name: &'a str, depth: usize) -> Option<Target<'a>> {
    if depth > MAX_DEPTH { None } else { member(parsed, module, name, depth) }
}

/// Whether an import such as `use name;` would be resolved by itself.
fn is_itself(path: &[String], name: &str) -> bool {
    path.len() == 1 && path[0] == name
}

/// A `macro_rules!` of a module above is in scope without a path.
fn defined_above<'a>(parsed: &Crate, from: usize, name: &'a str) -> Option<Target<'a>> {
    let mut module = parsed.modules[from].parent;
    while let Some(above) = module {
        if parsed.modules[above].macros.contains(name) {
            return Some(Target::Item(Definition { module: above, name }));
        }
        module = parsed.modules[above].parent;
    }
    None
}
