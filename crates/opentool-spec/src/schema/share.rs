//! Finding definitions that are equal, recursive ones included.

use std::collections::HashMap;

use indexmap::IndexSet;
use serde_json::Value;

use super::definition::{Definition, references};
use super::keyword;

/// For every definition the number of the first one that equals it in name and meaning, if any two do.
///
/// Definitions refer to each other, possibly in cycles, so equality is found from the other side: those of
/// one name and outer shape count as equal until they turn out to refer to unequal ones. Only groups that a
/// split may concern are looked at again, so that long chains cost no more than short ones.
pub(super) fn equal(definitions: &[Definition], used: &[usize]) -> Option<Vec<usize>> {
    let mut names: HashMap<&str, usize> = HashMap::new();
    for &number in used {
        *names.entry(&definitions[number].name).or_default() += 1;
    }
    if names.values().all(|&count| count == 1) {
        return None;
    }

    let mut partition = Partition::new(definitions, used, |number| names[definitions[number].name.as_str()] > 1);
    partition.refine();
    let mut shared: Vec<usize> = (0..definitions.len()).collect();
    for group in partition.groups {
        for &number in &group {
            shared[number] = group[0];
        }
    }
    Some(shared)
}

struct Partition {
    /// The groups of definitions that count as equal, each in order of use.
    groups: Vec<Vec<usize>>,
    group_of: Vec<usize>,
    refers_to: Vec<Vec<usize>>,
    referred_by: Vec<Vec<usize>>,
}

impl Partition {
    fn new(definitions: &[Definition], used: &[usize], may_be_equal: impl Fn(usize) -> bool) -> Self {
        let mut partition = Self {
            groups: Vec::new(),
            group_of: vec![0; definitions.len()],
            refers_to: vec![Vec::new(); definitions.len()],
            referred_by: vec![Vec::new(); definitions.len()],
        };
        let mut groups: HashMap<(&str, String), usize> = HashMap::new();
        for &number in used {
            let definition = &definitions[number];
            let fresh = partition.groups.len();
            let group = if may_be_equal(number) {
                *groups.entry((&definition.name, shape(&definition.body))).or_insert(fresh)
            } else {
                fresh
            };
            if group == fresh {
                partition.groups.push(Vec::new());
            }
            partition.groups[group].push(number);
            partition.group_of[number] = group;
            partition.refers_to[number] = references(&definition.body);
            for &target in &partition.refers_to[number] {
                partition.referred_by[target].push(number);
            }
        }
        partition
    }

    fn refine(&mut self) {
        let mut open: IndexSet<usize> = (0..self.groups.len()).collect();
        while let Some(group) = open.pop() {
            if self.groups[group].len() < 2 {
                continue;
            }
            let mut parts: Vec<Vec<usize>> = Vec::new();
            let mut by_targets: HashMap<Vec<usize>, usize> = HashMap::new();
            for &number in &self.groups[group] {
                let targets = self.refers_to[number].iter().map(|&target| self.group_of[target]).collect();
                let part = *by_targets.entry(targets).or_insert(parts.len());
                if part == parts.len() {
                    parts.push(Vec::new());
                }
                parts[part].push(number);
            }
            // The largest part keeps the group's number, so that few references have to be looked at again.
            parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
            let mut parts = parts.into_iter();
            self.groups[group] = parts.next().unwrap_or_default();
            for part in parts {
                for &number in &part {
                    self.group_of[number] = self.groups.len();
                    open.extend(self.referred_by[number].iter().map(|&source| self.group_of[source]));
                }
                self.groups.push(part);
            }
        }
    }
}

/// The text of a definition without what its references lead to.
fn shape(body: &Value) -> String {
    let mut body = body.clone();
    blank(&mut body);
    body.to_string()
}

fn blank(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    if let Some(reference) = schema.get_mut("$ref").filter(|reference| reference.is_number()) {
        *reference = Value::Null;
    }
    keyword::children_mut(schema, |_, child| blank(child));
}
