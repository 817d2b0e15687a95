//! Definitions that refer to themselves without a step into the value.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::definition::{Definition, number_of};
use super::keyword;

/// Cuts references that lead in a cycle while staying at the same value, such as `A: {"$ref": "#/$defs/A"}`.
///
/// They do not restrict the value, and a validator that follows them never returns. A recursive type is not such a
/// cycle: its reference is at a property or an item.
pub(super) fn cut(definitions: &mut [Definition]) {
    let mut finder = Finder { state: vec![State::New; definitions.len()], closing: HashSet::new() };
    for number in 0..definitions.len() {
        finder.visit(number, definitions);
    }
    let sources: HashSet<usize> = finder.closing.iter().map(|&(source, _)| source).collect();
    for source in sources {
        if let Value::Object(body) = &mut definitions[source].body {
            cut_inside(body, &|target| finder.closing.contains(&(source, target)));
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

struct Finder {
    state: Vec<State>,
    /// The references, from and to, that close a cycle.
    closing: HashSet<(usize, usize)>,
}

impl Finder {
    /// Follows the references from one definition, depth first, with an explicit stack: chains may be long.
    fn visit(&mut self, number: usize, definitions: &[Definition]) {
        if self.state[number] != State::New {
            return;
        }
        self.state[number] = State::Open;
        let mut path = vec![(number, references_in_place(&definitions[number].body))];
        while let Some((source, targets)) = path.last_mut() {
            let source = *source;
            match targets.pop() {
                Some(target) => match self.state[target] {
                    State::New => {
                        self.state[target] = State::Open;
                        path.push((target, references_in_place(&definitions[target].body)));
                    }
                    State::Open => drop(self.closing.insert((source, target))),
                    State::Done => {}
                },
                None => {
                    self.state[source] = State::Done;
                    path.pop();
                }
            }
        }
    }
}

fn references_in_place(schema: &Value) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let Value::Object(schema) = schema else { continue };
        found.extend(number_of(schema));
        keyword::children(schema, |keyword, child| {
            if keyword::stays_in_place(keyword) {
                open.push(child);
            }
        });
    }
    found
}

fn cut_inside(schema: &mut Map<String, Value>, closing: &impl Fn(usize) -> bool) {
    if number_of(schema).is_some_and(closing) {
        schema.shift_remove("$ref");
    }
    keyword::children_mut(schema, |keyword, child| {
        if let Value::Object(child) = child
            && keyword::stays_in_place(keyword)
        {
            cut_inside(child, closing);
        }
    });
}
