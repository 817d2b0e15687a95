//! OpenDyn functions as a whole: directions, pointers, handles, name clashes.

use foldhash::{HashMapExt as _, HashSet, HashSetExt as _};

use super::{
    c_types::{OBJECTS, Passed},
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    names::Names,
    signature::ParameterNodes,
};
use crate::{
    model::{CTypeName, SchemaType},
    tree::{NodeId, json_string, quote},
};

impl Checker<'_, '_> {
    /// Checks what needs all the functions and resolved references.
    pub(super) fn check_signatures(&mut self) {
        let mut waiting = HashSet::new();
        let mut inside = Vec::new();
        let signatures = std::mem::take(&mut self.signatures);
        self.handles(&signatures);
        self.initialiser(&signatures);
        for signature in signatures {
            let named = signature.parameters.iter().filter_map(|nodes| self.tree.string(nodes.name?));
            let names: HashSet<_> = named.collect();
            self.signature_extensions(&signature, &names);
            self.type_pairs(&signature);
            let mut results = Names::new();
            if let Some((returns, name, schema)) = signature.returns {
                self.returned(returns, schema);
                results.extend(name.and_then(|node| Some((self.tree.string(node)?, node))));
            }
            for nodes in signature.parameters {
                let ParameterNodes { parameter, name, schema, is_in: own } = nodes;
                let Some(passed) = self.passed(schema) else { continue };
                if let Some((node, value)) = passed.is_in {
                    inside.extend(value.map(|value| (parameter, node, value, own.is_some())));
                    if own.is_none() {
                        waiting.insert(node);
                    }
                } else if own.is_none() {
                    let message = "the parameter does not say whether it `isIn`: true is assumed".to_owned();
                    let remedy = Remedy::Add(parameter, "isIn", "true".to_owned());
                    self.fix(Code::NoIsIn, At::Value(parameter), message, remedy);
                }
                let goes_in = self.goes_in(&nodes);
                self.parameter_passed(&nodes, goes_in, passed);
                if !goes_in
                    && let Some(node) = name
                    && let Some(text) = self.tree.string(node)
                    && results.contains_key(&text)
                {
                    let message =
                        format!("{} is the name of the return value too: results share one object", quote(&text));
                    let mut free = format!("{text}_out");
                    while names.contains(&*free) {
                        free.push('_');
                    }
                    let remedy = Remedy::Replace(node, json_string(&free));
                    self.suggest(Code::ResultClash, At::Value(node), message, remedy);
                }
            }
        }
        self.is_in_inside(inside, &waiting);
    }

    /// `isIn` inside a C type: it moves to the parameter; from a shared schema, once every parameter has its own.
    fn is_in_inside(&mut self, inside: Vec<(NodeId, NodeId, bool, bool)>, waiting: &HashSet<NodeId>) {
        let mut reported = HashSet::new();
        for (parameter, node, value, own) in inside {
            let (start, end) = self.tree.span(parameter);
            let (at, _) = self.tree.span(node);
            let shared = !(start..end).contains(&at);
            if !own {
                let mut edits = vec![self.tree.insert_member(parameter, "isIn", if value { "true" } else { "false" })];
                if !shared {
                    edits.push(self.tree.remove_child(node));
                }
                let message = "`isIn` is inside `cType`, not on the parameter".to_owned();
                let remedy = Remedy::Edits("move it to the parameter".to_owned(), edits);
                let at = if shared { At::Value(parameter) } else { At::Key(node) };
                self.fix(Code::IsInInsideCType, at, message, remedy);
            } else if !waiting.contains(&node) && reported.insert(node) {
                let message = "`isIn` is inside `cType`, and the parameter has it too".to_owned();
                self.fix(Code::IsInInsideCType, At::Key(node), message, Remedy::Remove(node));
            }
        }
    }

    fn parameter_passed(&mut self, nodes: &ParameterNodes, is_in: bool, passed: Passed) {
        let ParameterNodes { parameter, is_in: own, .. } = *nodes;
        // The type of a handle, a callback and its data is of no account, and a field is no argument.
        let is_one_of = |keys: &[&str]| keys.iter().any(|key| self.tree.get(parameter, key).is_some());
        let opaque = is_one_of(&["x-callback", "x-userData", "x-events"]);
        let handle = opaque || self.handle_of(parameter, nodes.schema).is_some();
        let is_field = is_one_of(&["x-field"]);
        let at = At::Value(parameter);
        match (passed.name, passed.pointer) {
            (Some(CTypeName::Void), false) => {
                let message = "a parameter cannot be `void`".to_owned();
                self.suggest(Code::VoidParameter, at, message, Remedy::Remove(parameter));
                return;
            }
            (Some(CTypeName::Void), true) if !handle => {
                self.raw_pointer(parameter);
                return;
            }
            _ => {}
        }
        match passed.schema_type {
            Some(SchemaType::Array) if passed.node.is_some() && passed.name.is_some() && !passed.pointer => {
                let message = "an array is passed as a pointer to its elements".to_owned();
                self.make_pointer(Code::NotAPointer, at, message, passed.node);
            }
            Some(SchemaType::Array) => {}
            Some(SchemaType::Object) if passed.node.is_none() => {}
            Some(SchemaType::Object) if passed.name.is_some() => self.object_passed(at),
            _ if !is_in && !passed.pointer && passed.name.is_some() && !is_field => {
                let at = own.map_or(at, At::Value);
                let message = "an output parameter needs a pointer to write through".to_owned();
                self.make_pointer(Code::OutNeedsPointer, at, message, passed.node);
            }
            _ => {}
        }
    }

    fn returned(&mut self, returns: NodeId, schema: Option<NodeId>) {
        let Some(passed) = self.passed(schema) else { return };
        let handle = self.handle_of(returns, schema).is_some();
        if passed.name == Some(CTypeName::Void) && passed.pointer && !handle {
            self.raw_pointer(returns);
        } else if passed.schema_type == Some(SchemaType::Object) && passed.node.is_some() {
            self.object_passed(At::Value(returns));
        } else if passed.schema_type == Some(SchemaType::Array) && passed.node.is_some() && !passed.pointer {
            let message = "an array is returned as a pointer to its elements".to_owned();
            self.make_pointer(Code::NotAPointer, At::Value(returns), message, passed.node);
        }
    }

    fn raw_pointer(&mut self, owner: NodeId) {
        let message = "`void *` is a raw address, which callers must not see: name the type it points to".to_owned();
        let remedy = Remedy::Add(owner, "x-handle", json_string("object"));
        self.suggest(Code::RawPointer, At::Value(owner), message, remedy.into_example(self.tree));
    }

    fn object_passed(&mut self, at: At) {
        let message = "an object is passed to C as a struct, which has no C type of the spec".to_owned();
        self.report(Code::NotAPointer, at, message, Some(OBJECTS.to_owned()));
    }

    fn make_pointer(&mut self, code: Code, at: At, message: String, c_type: Option<NodeId>) {
        let Some(c_type) = c_type else {
            self.report(code, at, message, Some("add a `cType` with `\"isPointer\": true`".to_owned()));
            return;
        };
        let edit = match self.tree.get(c_type, "isPointer") {
            Some(flag) => self.tree.replace_value(flag, "true"),
            None => self.tree.insert_member(c_type, "isPointer", "true"),
        };
        let help = r#"write `"isPointer": true` in its `cType`"#.to_owned();
        self.suggest(code, at, message, Remedy::Edits(help, vec![edit]));
    }
}
