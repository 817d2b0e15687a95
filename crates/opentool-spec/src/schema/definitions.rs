//! Moves all definitions of a schema to `$defs` at its root.
//!
//! While a schema is being normalised, its definitions are kept in a list, and a reference to one of them is its index
//! instead of a text, so that names are chosen once, at the end.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::definition::{Definition, number_of, references};
use super::error::NormaliseError;
use super::{keyword, share};
use crate::json::pointer;

/// The keywords that hold definitions, today and in older drafts.
const HOLDERS: [&str; 2] = ["$defs", "definitions"];

/// Takes all definitions out of `root` and turns the references to them into numbers.
///
/// A definition is looked up in the scope of the reference and then outwards, so that whole schemas, each with
/// definitions of its own, can be combined. A reference to another part of the schema gets a definition of its own,
/// because normalising may change what its path leads through. References to other
/// documents stay as they are: nothing is ever fetched.
pub(super) fn take(root: &mut Value) -> Result<Vec<Definition>, NormaliseError> {
    let copies = copies_of_targets(root)?;
    let mut extractor = DefinitionExtractor::default();
    let copied: Vec<usize> = copies
        .into_iter()
        .map(|(pointer, name, body)| {
            let number = extractor.push(&name, body);
            extractor.copies.insert(pointer, number);
            number
        })
        .collect();
    // The copies see the definitions of the root, so its scope is opened by hand.
    let mut scope = HashMap::new();
    if let Value::Object(root) = root {
        scope = extractor.open(root);
    }
    let own: Vec<usize> = scope.values().copied().collect();
    extractor.scopes.push(scope);
    for number in own.into_iter().chain(copied) {
        extractor.take_inside_definition(number);
    }
    extractor.take_inside(root);
    match extractor.unresolved {
        Some(reference) => Err(NormaliseError::Unresolved { reference }),
        None => Ok(extractor.definitions),
    }
}

#[derive(Default)]
struct DefinitionExtractor {
    definitions: Vec<Definition>,
    scopes: Vec<HashMap<String, usize>>,
    /// The definitions made for references to other places, by JSON pointer.
    copies: HashMap<String, usize>,
    /// The first reference to a definition that does not exist.
    unresolved: Option<String>,
}

impl DefinitionExtractor {
    fn push(&mut self, name: &str, body: Value) -> usize {
        self.definitions.push(Definition { name: plain_name(name), body });
        self.definitions.len() - 1
    }

    /// Takes the definitions out of one schema.
    fn open(&mut self, schema: &mut Map<String, Value>) -> HashMap<String, usize> {
        let mut scope = HashMap::new();
        for holder in HOLDERS {
            if schema.contains_key(holder)
                && let Some(Value::Object(held)) = schema.shift_remove(holder)
            {
                for (name, body) in held {
                    if let Entry::Vacant(free) = scope.entry(name) {
                        let number = self.push(free.key(), body);
                        free.insert(number);
                    }
                }
            }
        }
        scope
    }

    fn take_inside(&mut self, schema: &mut Value) {
        let Value::Object(schema) = schema else { return };
        let scope = self.open(schema);
        let opened: Vec<usize> = scope.values().copied().collect();
        let nested = !scope.is_empty();
        if nested {
            self.scopes.push(scope);
            opened.into_iter().for_each(|number| self.take_inside_definition(number));
        }
        match schema.get_mut("$ref") {
            Some(reference @ Value::String(_)) => {
                if let Some(number) = reference.as_str().and_then(|reference| self.look_up(reference)) {
                    *reference = number.into();
                }
            }
            Some(_) => drop(schema.shift_remove("$ref")),
            None => {}
        }
        keyword::children_mut(schema, |_, child| self.take_inside(child));
        if nested {
            self.scopes.pop();
        }
    }

    fn take_inside_definition(&mut self, number: usize) {
        let mut body = self.definitions[number].body.take();
        self.take_inside(&mut body);
        self.definitions[number].body = body;
    }

    fn look_up(&mut self, reference: &str) -> Option<usize> {
        let Some(name) = defined_name(reference) else {
            return pointer_of(reference).and_then(|pointer| self.copies.get(&pointer)).copied();
        };
        let found = self.scopes.iter().rev().find_map(|scope| scope.get(&name)).copied();
        if found.is_none() {
            self.unresolved.get_or_insert_with(|| reference.to_owned());
        }
        found
    }
}

/// The name in a reference to a definition as such, `#/$defs/NAME`.
fn defined_name(reference: &str) -> Option<String> {
    let mut steps = pointer::reference_tokens(reference)?;
    let (holder, name) = (steps.next()?, steps.next()?);
    (HOLDERS.contains(&&*holder) && steps.next().is_none()).then(|| name.into_owned())
}

/// The JSON pointer in a reference to any other place in the schema.
fn pointer_of(reference: &str) -> Option<String> {
    if reference == "#" {
        return Some(String::new());
    }
    let steps = pointer::reference_tokens(reference).filter(|_| defined_name(reference).is_none())?;
    Some(steps.fold(String::new(), |mut path, step| {
        pointer::push(&mut path, &step);
        path
    }))
}

/// Copies, for every reference to another place in the schema, what is there, with a name for it.
fn copies_of_targets(root: &Value) -> Result<Vec<(String, String, Value)>, NormaliseError> {
    let mut copies = Vec::new();
    let mut seen = HashSet::new();
    let mut open = vec![root];
    while let Some(schema) = open.pop() {
        let Value::Object(map) = schema else { continue };
        keyword::children(map, |_, child| open.push(child));
        let Some(Value::String(reference)) = map.get("$ref") else { continue };
        // Compared by target, not by spelling: a target is copied once.
        let Some(pointer) = pointer_of(reference).filter(|pointer| !seen.contains(pointer)) else { continue };
        let target = root.pointer(&pointer).filter(|target| target.is_object() || target.is_boolean());
        let Some(target) = target else { return Err(NormaliseError::Unresolved { reference: reference.clone() }) };
        // The target may be under a keyword that holds no schemas; its references are needed too.
        open.push(target);
        let mut body = target.clone();
        if pointer.is_empty()
            && let Value::Object(body) = &mut body
        {
            body.retain(|keyword, _| !HOLDERS.contains(&keyword.as_str()));
        }
        let name = target.get("title").and_then(Value::as_str).map_or_else(|| name_of(&pointer), str::to_owned);
        seen.insert(pointer.clone());
        copies.push((pointer, name, body));
    }
    Ok(copies)
}

/// A name for what a pointer leads to: its last step that is not a keyword or an index.
fn name_of(pointer: &str) -> String {
    pointer
        .rsplit('/')
        .find(|step| !step.is_empty() && step.parse::<usize>().is_err() && keyword::holds(step) == keyword::Holds::Data)
        .unwrap_or("Root")
        .to_owned()
}

/// Reduces a name to characters that need no escaping, neither in JSON pointers nor in URIs.
fn plain_name(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' }).collect();
    if plain.bytes().all(|byte| byte == b'_') { "Schema".to_owned() } else { plain }
}

/// Makes references to equal definitions refer to the first of them.
pub(super) fn share(root: &mut Value, definitions: &mut [Definition]) {
    let used = in_order_of_use(root, definitions);
    if let Some(shared) = share::equal(definitions, &used) {
        let write = |number: usize| Value::from(shared[number]);
        write_references(root, &write);
        used.into_iter().for_each(|number| write_references(&mut definitions[number].body, &write));
    }
}

/// Puts the definitions that `root` uses into its `$defs`, in the order of their first use.
pub(super) fn put(root: &mut Value, mut definitions: Vec<Definition>) {
    let used = in_order_of_use(root, &definitions);
    let names = names(&definitions, &used);
    let write = |number: usize| Value::from(format!("#/$defs/{}", names[&number]));
    let mut defs = Map::new();
    for &number in &used {
        let mut body = definitions[number].body.take();
        write_references(&mut body, &write);
        defs.insert(names[&number].clone(), body);
    }
    write_references(root, &write);
    if let Value::Object(root) = root
        && !defs.is_empty()
    {
        root.insert("$defs".into(), Value::Object(defs));
    }
}

/// The numbers of the definitions that can be reached from `root`, in the order of
/// their first use.
fn in_order_of_use(root: &Value, definitions: &[Definition]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    let mut open = references(root);
    open.reverse();
    while let Some(number) = open.pop() {
        if seen.insert(number) {
            order.push(number);
            open.extend(references(&definitions[number].body).into_iter().rev());
        }
    }
    order
}

/// Names the definitions; a name that is taken gets a number, never one that another definition already has.
fn names(definitions: &[Definition], used: &[usize]) -> HashMap<usize, String> {
    let wanted: HashSet<&str> = used.iter().map(|&number| definitions[number].name.as_str()).collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    let mut names = HashMap::new();
    for &number in used {
        let name = definitions[number].name.as_str();
        let count = uses.entry(name).or_insert(0);
        let mut chosen = name.to_owned();
        *count += 1;
        while *count > 1 {
            chosen = format!("{name}{count}");
            if !wanted.contains(chosen.as_str()) {
                break;
            }
            *count += 1;
        }
        names.insert(number, chosen);
    }
    names
}

fn write_references(schema: &mut Value, write: &impl Fn(usize) -> Value) {
    let Value::Object(schema) = schema else { return };
    if let Some(number) = number_of(schema) {
        schema.insert("$ref".into(), write(number));
    }
    keyword::children_mut(schema, |_, child| write_references(child, write));
}
