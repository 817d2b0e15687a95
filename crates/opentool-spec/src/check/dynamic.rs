//! What only OpenDyn documents have: C types, directions, a calling convention, a table of codes.

use foldhash::{HashMapExt as _, HashSet, HashSetExt as _};

use super::{
    Code,
    draft::{At, Remedy},
    functions::Names,
    judge::{Checker, Field, Members, may, must, should},
    spelling::{Spelling, spelling},
    suggest::{nearest, quote},
};
use crate::{
    CTypeName, CallingConvention, SchemaType,
    tree::{Kind, NodeId, json_string},
};

/// A function as C sees it, judged once the references of its schemas are resolved.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) function: NodeId,
    pub(super) parameters: Vec<ParameterNodes>,
    /// The return value, its name and its schema.
    pub(super) returns: Option<(NodeId, Option<NodeId>, Option<NodeId>)>,
}

/// A parameter and what it says of itself.
#[derive(Debug)]
pub(super) struct ParameterNodes {
    pub(super) parameter: NodeId,
    pub(super) name: Option<NodeId>,
    pub(super) schema: Option<NodeId>,
    pub(super) is_in: Option<NodeId>,
}

/// What a schema says of its C type.
#[derive(Debug, Clone, Copy)]
struct Passed {
    node: Option<NodeId>,
    name: Option<CTypeName>,
    pointer: bool,
    /// `isIn` inside the C type; without a value where it is no boolean, which was told.
    is_in: Option<(NodeId, Option<bool>)>,
    schema_type: Option<SchemaType>,
}

impl Checker<'_, '_> {
    pub(super) fn calling_convention<const N: usize>(
        &mut self,
        info: NodeId,
        fields: &[Field; N],
        members: &Members<N>,
        index: usize,
    ) {
        let name = fields[index].name;
        let Some(node) = members[index] else {
            let message = "the calling convention is absent: `cdecl` is assumed".to_owned();
            let remedy = Remedy::Add(info, "callingConvention", json_string("cdecl"));
            self.fix(Code::NoCallingConvention, At::Value(info), message, remedy);
            return;
        };
        let Some(convention) = self.tree.string(node) else {
            let message = format!("`{name}` must be a string, not {}", self.tree.kind(node).described());
            let remedy = Remedy::Replace(node, json_string("cdecl"));
            self.suggest(Code::WrongType, At::Value(node), message, remedy);
            return;
        };
        if !CallingConvention::NAMES.contains(&&*convention) {
            let meant = nearest(&convention, CallingConvention::NAMES);
            let message = format!("{} is no calling convention: `cdecl` and `stdcall` are", quote(&convention));
            let remedy = Remedy::Replace(node, json_string(meant.unwrap_or("cdecl")));
            self.propose(meant.is_some(), Code::UnknownConvention, At::Value(node), message, remedy);
        }
    }

    /// The table of codes: texts by number.
    pub(super) fn code_table(&mut self, code: NodeId) {
        if !self.optional(code, may("code", Kind::Object)) {
            return;
        }
        for text in self.tree.children(code) {
            if self.tree.kind(text) != Kind::String {
                let found = self.tree.kind(text).described();
                let message = format!("the meaning of a code must be a string, not {found}");
                let scalar = matches!(self.tree.kind(text), Kind::Number | Kind::Bool);
                let remedy = Remedy::Replace(text, json_string(&self.tree.inline(text)));
                self.propose(scalar, Code::WrongType, At::Value(text), message, remedy);
            }
        }
    }

    pub(super) fn opendyn_schema(&mut self, schema: NodeId, owner: Option<NodeId>, elsewhere: &[&str]) {
        let fields = [
            should("type", Kind::String, Code::NoType),
            may("description", Kind::String),
            may("cType", Kind::Object),
            may("$ref", Kind::String),
        ];
        if self.reference(schema, owner) {
            return;
        }
        let members = self.members(schema, &fields, elsewhere);
        if members[3].is_some_and(|reference| self.tree.kind(reference) == Kind::String) {
            return; // a reference under a wrong name
        }
        let schema_type = match members[0] {
            Some(declared) => self.schema_type(declared),
            None => {
                let message = "the schema has neither `type` nor `$ref`".to_owned();
                let meant = members[2].and_then(|c_type| self.seen_as(c_type));
                let remedy = Remedy::Add(schema, "type", json_string(meant.unwrap_or(SchemaType::Integer).as_str()));
                self.propose(meant.is_some(), Code::NoType, At::Value(schema), message, remedy);
                None
            }
        };
        self.optional_member(&fields, &members, 1);
        match members[2] {
            Some(c_type) if self.tree.kind(c_type) == Kind::Object => self.c_type(c_type, schema_type),
            Some(c_type) => {
                let found = self.tree.kind(c_type);
                let message = format!("`cType` must be an object, not {}", found.described());
                let remedy = match self.tree.string(c_type) {
                    Some(spelt) => object_of(&spelt).unwrap_or_else(|| assumed_c_type(schema_type)),
                    None => assumed_c_type(schema_type),
                };
                self.suggest(Code::WrongType, At::Value(c_type), message, Remedy::Replace(c_type, remedy));
            }
            None => self.no_c_type(schema, schema_type),
        }
    }

    fn no_c_type(&mut self, schema: NodeId, schema_type: Option<SchemaType>) {
        let Some(schema_type) = schema_type else { return };
        let assumed = assumed_c_type(Some(schema_type));
        let remedy = Remedy::Add(schema, "cType", assumed.clone());
        if schema_type == SchemaType::Object {
            let message = "an object cannot be passed to C".to_owned();
            self.tell(Code::NeedsCType, At::Value(schema), message, Some(OBJECTS.to_owned()));
        } else if schema_type == SchemaType::Array {
            let message = "an array has no C type of its own: say which with `cType`".to_owned();
            self.suggest(Code::NeedsCType, At::Value(schema), message, remedy);
        } else {
            let message = format!("without a `cType`, {} is passed as `{assumed}`", schema_type.described());
            self.fix(Code::NoCType, At::Value(schema), message, remedy);
        }
    }

    fn c_type(&mut self, c_type: NodeId, schema_type: Option<SchemaType>) {
        let tree = self.tree;
        let fields = [must("type", Kind::String), should("isPointer", Kind::Bool, Code::NoIsPointer)];
        // `isIn` inside a C type is judged with the parameters that use it.
        let members = self.members(c_type, &fields, &["isIn"]);
        let assumed = assumed_name(schema_type);
        let mut points = false;
        if let Some(node) = self.required("C type", c_type, &fields, &members, 0, || json_string(assumed))
            && let Some(spelt) = tree.string(node)
        {
            let pointer = members[1].and_then(|flag| tree.bool(flag)).unwrap_or(false);
            match spelling(&spelt, pointer) {
                Spelling::Exact(_) => {}
                Spelling::Alias(name, pointer) => {
                    let flag = if pointer { " and `isPointer`" } else { "" };
                    let message = format!("the spec writes {} as `{name}`{flag}", quote(&spelt));
                    let mut edits = vec![tree.replace_value(node, json_string(name.as_str()))];
                    let mut help = format!("write `{name}`");
                    if pointer {
                        points = true;
                        help.push_str(r#" and `"isPointer": true`"#);
                        edits.push(match members[1] {
                            Some(flag) => tree.replace_value(flag, "true"),
                            None => tree.insert_member(c_type, "isPointer", "true"),
                        });
                    }
                    self.fix(Code::CSpelling, At::Value(node), message, Remedy::Edits(help, edits));
                }
                Spelling::Unsupported(feature) => {
                    let message = format!("{} cannot be passed: {feature}", quote(&spelt));
                    let instead = if spelt.contains("**") { "void" } else { assumed };
                    let remedy = Remedy::Replace(node, json_string(instead));
                    self.suggest(Code::UnsupportedCType, At::Value(node), message, remedy);
                }
                Spelling::Unknown(meant) => {
                    // Never without asking: one letter more is another sign or width.
                    let message = format!("{} is none of the C types of the spec", quote(&spelt));
                    let remedy = Remedy::Replace(node, json_string(meant.map_or(assumed, CTypeName::as_str)));
                    self.suggest(Code::UnknownCType, At::Value(node), message, remedy);
                }
            }
        }
        if let Some(is_in) = tree.get(c_type, "isIn") {
            self.boolean_value(is_in, "isIn", "true");
        }
        if !points {
            let message = || "the C type does not say whether it is a pointer: false is assumed".to_owned();
            self.boolean(Code::NoIsPointer, c_type, &fields, &members, 1, "false", message);
        }
    }

    /// The type that callers see for a C type, where only one is plausible.
    fn seen_as(&self, c_type: NodeId) -> Option<SchemaType> {
        let passed = self.passed_as(c_type);
        match (passed.name?, passed.pointer) {
            (CTypeName::Char | CTypeName::UnsignedChar, true) => Some(SchemaType::String),
            (CTypeName::Void, _) => None,
            (CTypeName::Bool, _) => Some(SchemaType::Boolean),
            (CTypeName::Float | CTypeName::Double, _) => Some(SchemaType::Number),
            _ => Some(SchemaType::Integer),
        }
    }

    fn passed_as(&self, c_type: NodeId) -> Passed {
        let tree = self.tree;
        let spelt = tree.get(c_type, "type").and_then(|name| tree.string(name));
        let pointer = tree.get(c_type, "isPointer").and_then(|flag| tree.bool(flag)).unwrap_or(false);
        let (name, star) = match spelt.as_deref().map(|spelt| spelling(spelt, pointer)) {
            Some(Spelling::Exact(name)) => (Some(name), false),
            Some(Spelling::Alias(name, star)) => (Some(name), star),
            _ => (None, false),
        };
        let is_in = tree.get(c_type, "isIn").map(|node| (node, tree.bool(node)));
        Passed { node: Some(c_type), name, pointer: pointer || star, is_in, schema_type: None }
    }

    /// How a value with this schema crosses the boundary.
    fn passed(&self, schema: Option<NodeId>) -> Option<Passed> {
        let tree = self.tree;
        let schema = self.references.end_of(schema?);
        if self.renamed.contains(&schema) {
            return None; // what its members mean is known once they have their names
        }
        let schema_type = tree.get(schema, "type").and_then(|node| tree.string(node));
        let schema_type =
            schema_type.and_then(|name| SchemaType::from_name(&name).or_else(|| SchemaType::from_alias(&name)));
        let passed = match tree.get(schema, "cType") {
            Some(c_type) if tree.kind(c_type) == Kind::Object => self.passed_as(c_type),
            _ => {
                let string = schema_type == Some(SchemaType::String);
                let name = schema_type.and_then(|_| CTypeName::from_name(assumed_name(schema_type)));
                Passed { node: None, name, pointer: string, is_in: None, schema_type: None }
            }
        };
        Some(Passed { schema_type, ..passed })
    }

    /// Whether a parameter goes in, by what it says itself, or its C type.
    pub(super) fn goes_in(&self, nodes: &ParameterNodes) -> bool {
        let own = nodes.is_in.and_then(|own| self.tree.bool(own));
        own.or_else(|| self.passed(nodes.schema)?.is_in?.1).unwrap_or(true)
    }

    /// Judges what needs the whole function: directions, pointers, handles, clashes.
    pub(super) fn judge_signatures(&mut self) {
        let mut waiting = HashSet::new();
        let mut inside = Vec::new();
        let signatures = std::mem::take(&mut self.signatures);
        self.handles(&signatures);
        self.initialiser(&signatures);
        for signature in signatures {
            let named = signature.parameters.iter().filter_map(|nodes| self.tree.string(nodes.name?));
            let names: HashSet<_> = named.collect();
            self.signature_extensions(&signature, &names);
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

    /// `isIn` inside a C type: it moves to the parameter; from a shared schema, once every parameter says it itself.
    fn is_in_inside(&mut self, inside: Vec<(NodeId, NodeId, bool, bool)>, waiting: &HashSet<NodeId>) {
        let mut told = HashSet::new();
        for (parameter, node, value, own) in inside {
            let (start, end) = self.tree.span(parameter);
            let (at, _) = self.tree.span(node);
            let shared = !(start..end).contains(&at);
            if !own {
                let mut edits = vec![self.tree.insert_member(parameter, "isIn", if value { "true" } else { "false" })];
                if !shared {
                    edits.push(self.tree.remove_child(node));
                }
                let message = "`isIn` stands inside `cType`, not on the parameter".to_owned();
                let remedy = Remedy::Edits("move it to the parameter".to_owned(), edits);
                let at = if shared { At::Value(parameter) } else { At::Key(node) };
                self.fix(Code::IsInInsideCType, at, message, remedy);
            } else if !waiting.contains(&node) && told.insert(node) {
                let message = "`isIn` stands inside `cType`, and the parameter says it itself".to_owned();
                self.fix(Code::IsInInsideCType, At::Key(node), message, Remedy::Remove(node));
            }
        }
    }

    fn parameter_passed(&mut self, nodes: &ParameterNodes, is_in: bool, passed: Passed) {
        let ParameterNodes { parameter, is_in: own, .. } = *nodes;
        let handle = self.handle_of(parameter, nodes.schema).is_some();
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
            Some(SchemaType::Array) if passed.node.is_none() => {}
            Some(SchemaType::Object) if passed.node.is_none() => {}
            Some(SchemaType::Object) if passed.name.is_some() => self.object_passed(at),
            _ if !is_in && !passed.pointer && passed.name.is_some() => {
                let at = own.map_or(at, At::Value);
                let message = "what goes out needs a pointer to write through".to_owned();
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
        let message = "`void *` is a raw address, which nobody outside may see: name the type it stands for".to_owned();
        let remedy = Remedy::Add(owner, "x-handle", json_string("object"));
        self.suggest(Code::RawPointer, At::Value(owner), message, remedy);
    }

    fn object_passed(&mut self, at: At) {
        let message = "an object cannot be passed to C: there are no structs by value".to_owned();
        self.tell(Code::NotAPointer, at, message, Some(OBJECTS.to_owned()));
    }

    fn make_pointer(&mut self, code: Code, at: At, message: String, c_type: Option<NodeId>) {
        let Some(c_type) = c_type else {
            self.tell(code, at, message, Some("say its `cType`, with `\"isPointer\": true`".to_owned()));
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

/// What to do about an object.
const OBJECTS: &str = "pass its fields as parameters of their own, or a handle";

/// The C type that is taken where a schema names none.
fn assumed_name(schema_type: Option<SchemaType>) -> &'static str {
    match schema_type {
        Some(SchemaType::Boolean) => "bool",
        Some(SchemaType::Number | SchemaType::Array) => "double",
        Some(SchemaType::String) => "char",
        _ => "int",
    }
}

fn assumed_c_type(schema_type: Option<SchemaType>) -> String {
    let pointer = matches!(schema_type, Some(SchemaType::String | SchemaType::Array));
    format!(r#"{{"type": "{}", "isPointer": {pointer}}}"#, assumed_name(schema_type))
}

/// A C type that stands as a text.
fn object_of(spelt: &str) -> Option<String> {
    match spelling(spelt, false) {
        Spelling::Exact(name) => Some(format!(r#"{{"type": "{name}", "isPointer": false}}"#)),
        Spelling::Alias(name, pointer) => Some(format!(r#"{{"type": "{name}", "isPointer": {pointer}}}"#)),
        _ => None,
    }
}
