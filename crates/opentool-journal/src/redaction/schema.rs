//! Which places a schema calls secret.

use opentool_core::spec::json::pointer;
use serde_json::Value;

/// The schemas of a tool.
pub(super) struct ToolSchemas {
    pub(super) input: Value,
    pub(super) output: Option<Value>,
}

/// How many schemas may say something about one place. References can lead in circles.
const MOST: usize = 64;

/// A schema, and the document in which its references are followed.
#[derive(Clone, Copy)]
pub(super) struct Node<'s> {
    root: &'s Value,
    value: &'s Value,
}

/// The schemas that say something about one place of a value.
#[derive(Clone, Default)]
pub(super) struct Nodes<'s>(Vec<Node<'s>>);

impl<'s> Nodes<'s> {
    pub(super) fn root(schema: Option<&'s Value>) -> Self {
        let mut nodes = Self::default();
        if let Some(schema) = schema {
            nodes.add(Node { root: schema, value: schema });
        }
        nodes
    }

    /// Adds a schema with everything that it refers to and consists of.
    fn add(&mut self, node: Node<'s>) {
        let is_known = |known: &Node<'s>| std::ptr::eq(known.value, node.value);
        if self.0.len() >= MOST || self.0.iter().any(is_known) {
            return;
        }
        self.0.push(node);
        let within = |value: &'s Value| Node { root: node.root, value };
        if let Some(target) = node.value.get("$ref").and_then(Value::as_str).and_then(|path| follow(node.root, path)) {
            self.add(within(target));
        }
        for word in ["allOf", "anyOf", "oneOf"] {
            let parts = node.value.get(word).and_then(Value::as_array);
            parts.into_iter().flatten().for_each(|part| self.add(within(part)));
        }
        for word in ["if", "then", "else"] {
            node.value.get(word).into_iter().for_each(|part| self.add(within(part)));
        }
    }

    /// Returns those of a member.
    pub(super) fn member(&self, name: &str) -> Self {
        let mut nodes = Self::default();
        for Node { root, value } in &self.0 {
            match value.get("properties").and_then(|properties| properties.get(name)) {
                Some(value) => nodes.add(Node { root, value }),
                None => value.get("additionalProperties").into_iter().for_each(|value| nodes.add(Node { root, value })),
            }
            // Whatever its pattern: too much is redacted rather than too little.
            let patterns = value.get("patternProperties").and_then(Value::as_object);
            patterns.into_iter().flatten().for_each(|(_, value)| nodes.add(Node { root, value }));
        }
        nodes
    }

    /// Returns those of an item.
    pub(super) fn item(&self, index: usize) -> Self {
        let mut nodes = Self::default();
        for Node { root, value } in &self.0 {
            let first = value.get("prefixItems").and_then(|items| items.get(index));
            let items = first.or_else(|| value.get("items"));
            items.into_iter().for_each(|value| nodes.add(Node { root, value }));
        }
        nodes
    }

    pub(super) fn is_secret(&self) -> bool {
        self.0.iter().any(|node| is_marked(node.value))
    }

    /// Returns a number that a bound of the schemas asks for.
    pub(super) fn number(&self, word: &str) -> Option<&'s serde_json::Number> {
        self.0.iter().find_map(|node| node.value.get(word).and_then(Value::as_number))
    }
}

fn is_marked(schema: &Value) -> bool {
    schema.get("writeOnly") == Some(&Value::Bool(true))
        || schema.get("format").and_then(Value::as_str) == Some("password")
}

/// Says whether any part of a schema is marked.
pub(super) fn has_secrets(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => is_marked(schema) || members.values().any(has_secrets),
        Value::Array(items) => items.iter().any(has_secrets),
        _ => false,
    }
}

fn follow<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    if reference == "#" {
        return Some(root);
    }
    pointer::reference_tokens(reference)?.try_fold(root, |value, token| match value {
        Value::Object(members) => members.get(&*token),
        Value::Array(items) => items.get(token.parse::<usize>().ok()?),
        _ => None,
    })
}
