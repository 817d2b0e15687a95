//! C types of OpenDyn documents, the calling convention, and the table of codes.

use super::{
    c_spelling::{Spelling, spelling},
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    field::{SpecObject, may, must, should},
    signature::ParameterNodes,
};
use crate::{
    json::near::misspelt,
    model::{CTypeName, CallingConvention, SchemaType},
    tree::{Kind, NodeId, json_string, quote},
};

/// How a value is passed, by its schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    pub(super) node: Option<NodeId>,
    pub(super) name: Option<CTypeName>,
    pub(super) pointer: bool,
    /// `isIn` inside the C type; without a value where it is not a boolean, which has been reported.
    pub(super) is_in: Option<(NodeId, Option<bool>)>,
    pub(super) schema_type: Option<SchemaType>,
}

impl Checker<'_, '_> {
    pub(super) fn calling_convention<const N: usize>(&mut self, info: &SpecObject<N>, index: usize) {
        let name = info.fields[index].name;
        let Some(node) = info.members[index] else {
            let message = "the calling convention is absent: `cdecl` is assumed".to_owned();
            let remedy = Remedy::Add(info.node, "callingConvention", json_string("cdecl"));
            self.fix(Code::NoCallingConvention, At::Value(info.node), message, remedy);
            return;
        };
        let Some(convention) = self.tree.string(node) else {
            let message = format!("`{name}` must be a string, not {}", self.tree.kind(node).described());
            let remedy = Remedy::Replace(node, json_string("cdecl"));
            self.suggest(Code::WrongType, At::Value(node), message, remedy);
            return;
        };
        if !CallingConvention::NAMES.contains(&&*convention) {
            let meant = misspelt(&convention, CallingConvention::NAMES);
            let message = format!("{} is not a calling convention: use `cdecl` or `stdcall`", quote(&convention));
            let remedy = Remedy::Replace(node, json_string(meant.unwrap_or("cdecl")));
            self.propose(meant.is_some(), Code::UnknownConvention, At::Value(node), message, remedy);
        }
    }

    /// The table of codes: texts by number.
    pub(super) fn code_table(&mut self, code: NodeId) {
        if !self.optional(code, may("code", Kind::Object)) {
            return;
        }
        for text in self.last_of_each_key(self.tree.children(code).collect()) {
            self.code_key(text);
            if self.tree.kind(text) != Kind::String {
                let found = self.tree.kind(text).described();
                let message = format!("the meaning of a code must be a string, not {found}");
                let scalar = matches!(self.tree.kind(text), Kind::Number | Kind::Bool);
                let remedy = Remedy::Replace(text, json_string(&self.tree.inline(text)));
                self.propose(scalar, Code::WrongType, At::Value(text), message, remedy);
            }
        }
    }

    /// A code is an integer in decimal digits.
    fn code_key(&mut self, text: NodeId) {
        let key = self.tree.key(text);
        let digits = key.trim();
        if digits.parse::<i128>().is_ok() {
            return;
        }
        let message = format!("the code {} is not an integer, so that it is never found", quote(&key));
        let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
        match hexadecimal.and_then(|digits| u64::from_str_radix(digits, 16).ok()).map(|code| code.to_string()) {
            Some(code) if self.tree.parent(text).is_some_and(|table| self.tree.get(table, &code).is_none()) => {
                let help = format!("write it as `{}`", json_string(&code));
                let edits = vec![self.tree.rename_member(text, &code)];
                self.fix(Code::CodeKey, At::Key(text), message, Remedy::Edits(help, edits));
            }
            _ => {
                let help = "write the number that the function returns, in decimal digits".to_owned();
                self.report(Code::CodeKey, At::Key(text), message, Some(help));
            }
        }
    }

    pub(super) fn opendyn_schema(&mut self, schema: NodeId, owner: Option<NodeId>, handled: &[&str]) {
        let fields = [
            should("type", Kind::String, Code::NoType),
            may("description", Kind::String),
            may("cType", Kind::Object),
            may("$ref", Kind::String),
        ];
        if self.reference(schema, owner) {
            return;
        }
        let is_struct = self.tree.get(schema, "x-struct").is_some();
        let of_structs = !is_struct && self.has_struct_items(schema);
        // The keywords that a struct and an array of structs need are no surprise, though the spec has no structs.
        let expected: &[&str] = match (is_struct, of_structs) {
            (true, _) => &["properties", "required"],
            (_, true) => &["items", "minItems", "maxItems"],
            _ => &[],
        };
        let object = self.object("schema", schema, fields, &[handled, expected].concat());
        let members = object.members;
        // Other members are reported by those that handle them.
        let own = tree_members(self, schema, &members, handled);
        self.keywords(schema, &own);
        if members[3].is_some_and(|reference| self.tree.kind(reference) == Kind::String) {
            return; // a reference under a wrong name
        }
        let schema_type = match members[0] {
            Some(declared) => self.schema_type(declared),
            None => {
                let message = "the schema has neither `type` nor `$ref`: callers do not know what to pass".to_owned();
                let meant = members[2].and_then(|c_type| self.visible_type(c_type));
                let remedy = Remedy::Add(schema, "type", json_string(meant.unwrap_or(SchemaType::Integer).as_str()));
                self.propose(meant.is_some(), Code::NoType, At::Value(schema), message, remedy);
                None
            }
        };
        self.optional_member(&object, 1);
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
            None if is_struct && schema_type == Some(SchemaType::Object) => {}
            None if of_structs => {}
            None => self.no_c_type(schema, schema_type),
        }
    }

    fn no_c_type(&mut self, schema: NodeId, schema_type: Option<SchemaType>) {
        let Some(schema_type) = schema_type else { return };
        let assumed = assumed_c_type(Some(schema_type));
        let remedy = Remedy::Add(schema, "cType", assumed.clone());
        if schema_type == SchemaType::Object {
            let message = "an object cannot be passed to C".to_owned();
            self.report(Code::NeedsCType, At::Value(schema), message, Some(OBJECTS.to_owned()));
        } else if schema_type == SchemaType::Array {
            let message = "an array has no C type of its own: name it with `cType`".to_owned();
            self.suggest(Code::NeedsCType, At::Value(schema), message, remedy);
        } else {
            let message = format!("without a `cType`, {} is passed as `{assumed}`", schema_type.described());
            self.fix(Code::NoCType, At::Value(schema), message, remedy);
        }
    }

    fn c_type(&mut self, c_type: NodeId, schema_type: Option<SchemaType>) {
        let tree = self.tree;
        let fields = [must("type", Kind::String), should("isPointer", Kind::Bool, Code::NoIsPointer)];
        // `isIn` inside a C type is checked with the parameters that use it.
        let object = self.object("C type", c_type, fields, &["isIn"]);
        let members = object.members;
        let assumed = assumed_name(schema_type);
        let mut points = false;
        if let Some(node) = self.required(&object, 0, || json_string(assumed))
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
                    // Never automatic: one letter makes another sign or width.
                    let message = format!("{} is not a C type of the spec", quote(&spelt));
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
            self.boolean(&object, 1, "false", message);
        }
    }

    /// The type that callers see for a C type, where only one is plausible.
    pub(super) fn visible_type(&self, c_type: NodeId) -> Option<SchemaType> {
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
    pub(super) fn passed(&self, schema: Option<NodeId>) -> Option<Passed> {
        let tree = self.tree;
        let schema = self.references.end_of(schema?);
        if self.renamed.contains(&schema) {
            return None; // its members are misspelt: checked again after the fix
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

    /// Whether a parameter is an input, by its own `isIn` or that of its C type.
    pub(super) fn goes_in(&self, nodes: &ParameterNodes) -> bool {
        let own = nodes.is_in.and_then(|own| self.tree.bool(own));
        own.or_else(|| self.passed(nodes.schema)?.is_in?.1).unwrap_or(true)
    }
}

/// The members of a schema that are no keywords of JSON Schema.
fn tree_members(
    checker: &Checker<'_, '_>,
    schema: NodeId,
    fields: &[Option<NodeId>],
    handled: &[&str],
) -> Vec<Option<NodeId>> {
    let handled = handled.iter().map(|key| checker.tree.get(schema, key));
    fields.iter().copied().chain(handled).collect()
}

/// What to do about an object.
pub(super) const OBJECTS: &str =
    "say by `x-struct` how the struct lies in memory, and leave out `cType`; or pass its fields, or a handle";

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

/// The object for a C type that is written as a string.
fn object_of(spelt: &str) -> Option<String> {
    match spelling(spelt, false) {
        Spelling::Exact(name) => Some(format!(r#"{{"type": "{name}", "isPointer": false}}"#)),
        Spelling::Alias(name, pointer) => Some(format!(r#"{{"type": "{name}", "isPointer": {pointer}}}"#)),
        _ => None,
    }
}
