//! Functions, their parameters and their return values.

use std::borrow::Cow;

use foldhash::{HashMap, HashMapExt as _};

use super::{
    Code, DocumentKind,
    draft::{At, Remedy},
    dynamic::{ParameterNodes, Signature},
    judge::{Checker, may, must, should},
};
use crate::tree::{Kind, NodeId, json_string};

/// The longest name a function may have.
const LONGEST_NAME: usize = 64;

/// Whether a function may have this name: 1 to 64 of `a-z`, `A-Z`, `0-9`, `-` and `_`.
///
/// ```
/// assert!(opentool_spec::is_valid_name("get-weather_2"));
/// assert!(!opentool_spec::is_valid_name("get weather"));
/// ```
pub fn is_valid_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// The names of functions, or of one function's parameters, with the first that has each.
pub(super) type Names<'a> = HashMap<Cow<'a, str>, NodeId>;

impl<'a> Checker<'_, 'a> {
    pub(super) fn functions(&mut self, functions: NodeId) {
        let names = self.names(functions);
        let mut empty = true;
        for (index, function) in self.tree.children(functions).enumerate() {
            empty = false;
            if self.tree.kind(function) != Kind::Object {
                let name = fresh(&names, "function", index);
                let function_text =
                    format!(r#"{{"name": "{name}", "description": "What {name} does.", "parameters": []}}"#);
                let found = self.tree.kind(function).described();
                let message = format!("a function must be an object, not {found}");
                self.suggest(Code::WrongType, At::Value(function), message, Remedy::Replace(function, function_text));
                continue;
            }
            self.function(function, index, &names);
        }
        if empty {
            let help = "describe at least one function".to_owned();
            self.tell(Code::NoFunctions, At::Value(functions), "there are no functions".to_owned(), Some(help));
        }
    }

    /// The names that the elements of a list have, each with the first element that has it.
    fn names(&self, list: NodeId) -> Names<'a> {
        let mut names = Names::new();
        for element in self.tree.children(list) {
            if let Some(name) = self.tree.get(element, "name").and_then(|name| self.tree.string(name)) {
                names.entry(name).or_insert(element);
            }
        }
        names
    }

    fn function(&mut self, function: NodeId, index: usize, names: &Names<'a>) {
        let fields = [
            must("name", Kind::String),
            must("description", Kind::String),
            should("parameters", Kind::Array, Code::NoParameters),
            may("return", Kind::Object),
        ];
        let members = self.members(function, &fields, &["returns", "stream"]);

        let placeholder = || json_string(&fresh(names, "function", index));
        let name = self.required("function", function, &fields, &members, 0, placeholder);
        let name_text = name.and_then(|name| self.tree.string(name));
        if let (Some(node), Some(text)) = (name, &name_text) {
            self.function_name(function, node, text, index, names);
        }

        let shown = name_text.as_deref().filter(|name| is_valid_name(name)).unwrap_or("it");
        let placeholder = || json_string(&format!("What {shown} does."));
        if let Some(description) = self.required("function", function, &fields, &members, 1, placeholder)
            && self.tree.string(description).is_some_and(|text| text.trim().is_empty())
        {
            let message = "an empty description tells a model nothing".to_owned();
            match &name_text {
                Some(name) if !name.trim().is_empty() => {
                    let remedy = Remedy::Replace(description, json_string(name));
                    self.fix(Code::EmptyDescription, At::Value(description), message, remedy);
                }
                _ => {
                    let remedy = Remedy::Replace(description, placeholder());
                    self.suggest(Code::EmptyDescription, At::Value(description), message, remedy);
                }
            }
        }

        let mut signature = Signature { function, parameters: Vec::new(), returns: None };
        match members[2] {
            None => {
                let message = "the function has no `parameters`".to_owned();
                let remedy = Remedy::Add(function, "parameters", "[]".to_owned());
                self.fix(Code::NoParameters, At::Value(function), message, remedy);
            }
            Some(parameters) => match self.tree.kind(parameters) {
                Kind::Array => self.parameters(parameters, &mut signature),
                Kind::Object if self.tree.get(parameters, "$ref").is_none() => {
                    self.in_older = true;
                    self.older_parameters(function, parameters, &mut signature);
                    self.in_older = false;
                }
                kind => {
                    let message = format!("`parameters` must be an array, not {}", kind.described());
                    let remedy = Remedy::Replace(parameters, "[]".to_owned());
                    self.propose(kind == Kind::Null, Code::WrongType, At::Value(parameters), message, remedy);
                }
            },
        }

        if let Some(returns) = members[3] {
            match self.tree.kind(returns) {
                Kind::Null => {}
                Kind::Object => self.returns(returns, &mut signature),
                kind => {
                    let message = format!("`return` must be an object or null, not {}", kind.described());
                    let remedy = Remedy::Replace(returns, "null".to_owned());
                    self.suggest(Code::WrongType, At::Value(returns), message, remedy);
                }
            }
        }
        if let Some(older) = self.tree.get(function, "returns") {
            self.in_older = true;
            self.older_returns(older, members[3], &mut signature);
            self.in_older = false;
        }
        if let Some(stream) = self.tree.get(function, "stream") {
            let message = "`stream` is an extension: only some clients know it".to_owned();
            self.tell(Code::Stream, At::Key(stream), message, None);
        }
        if self.kind == DocumentKind::OpenDyn {
            self.signatures.push(signature);
        }
    }

    fn function_name(&mut self, function: NodeId, node: NodeId, name: &str, index: usize, names: &Names<'a>) {
        if !is_valid_name(name) {
            let illegal = name.chars().find(|char| !char.is_ascii_alphanumeric() && !matches!(char, '-' | '_'));
            let message = match illegal {
                Some(char) => format!("a function's name has only a-z, A-Z, 0-9, - and _, not {char:?}"),
                None if name.is_empty() => "a function's name is empty".to_owned(),
                None => format!("a function's name has at most {LONGEST_NAME} characters, this one {}", name.len()),
            };
            let remedy = Remedy::Replace(node, json_string(&legal(names, name, index)));
            self.suggest(Code::InvalidName, At::Value(node), message, remedy);
        } else if let Some(first) = names.get(name).filter(|first| **first != function) {
            let message = format!("`{name}` is already the name of {}", self.tree.pointer(*first));
            let remedy = Remedy::Replace(node, json_string(&fresh(names, name, index)));
            self.suggest(Code::DuplicateFunction, At::Value(node), message, remedy);
        }
    }

    fn parameters(&mut self, parameters: NodeId, signature: &mut Signature) {
        let names = self.names(parameters);
        for (index, parameter) in self.tree.children(parameters).enumerate() {
            if self.tree.kind(parameter) != Kind::Object {
                let name = fresh(&names, "parameter", index);
                let text = format!(r#"{{"name": "{name}", "schema": {{"type": "string"}}, "required": false}}"#);
                let message = format!("a parameter must be an object, not {}", self.tree.kind(parameter).described());
                self.suggest(Code::WrongType, At::Value(parameter), message, Remedy::Replace(parameter, text));
                continue;
            }
            let nodes = self.parameter(parameter, Some((index, &names)));
            if let Some(node) = nodes.name
                && self.tree.string(node).is_some_and(|name| name.trim().is_empty())
            {
                let message = "a parameter's name is empty".to_owned();
                let remedy = Remedy::Replace(node, json_string(&fresh(&names, "parameter", index)));
                self.suggest(Code::EmptyParameterName, At::Value(node), message, remedy);
            }
            if let (Some(node), Some(text)) = (nodes.name, nodes.name.and_then(|name| self.tree.string(name)))
                && let Some(first) = names.get(&text).filter(|first| **first != parameter)
            {
                let message = format!("{} is already the name of {}", super::quote(&text), self.tree.pointer(*first));
                let remedy = Remedy::Replace(node, json_string(&fresh(&names, &text, index)));
                self.suggest(Code::DuplicateParameter, At::Value(node), message, remedy);
            }
            signature.parameters.push(nodes);
        }
    }

    /// Judges a parameter; without names where its name is the key it stands under.
    pub(super) fn parameter(&mut self, parameter: NodeId, names: Option<(usize, &Names<'a>)>) -> ParameterNodes {
        let dynamic = self.kind == DocumentKind::OpenDyn;
        // A field that this document does not have stands as one without a name.
        let none = may("", Kind::Null);
        let fields = [
            must("schema", Kind::Object),
            should("required", Kind::Bool, Code::NoRequired),
            may("description", Kind::String),
            if names.is_some() { must("name", Kind::String) } else { none },
            if dynamic { should("isIn", Kind::Bool, Code::NoIsIn) } else { none },
        ];
        let elsewhere: &[&str] = if names.is_some() { &[] } else { &["name"] };
        let members = self.members(parameter, &fields, elsewhere);
        let name = names.and_then(|(index, names)| {
            let placeholder = || json_string(&fresh(names, "parameter", index));
            self.required("parameter", parameter, &fields, &members, 3, placeholder)
        });
        let schema = self.schema_of("parameter", parameter, &fields, &members, 0);
        self.optional_member(&fields, &members, 2);

        let assumed = if dynamic { "true" } else { "false" };
        let message = || format!("the parameter does not say whether it is `required`: {assumed} is assumed");
        self.boolean(Code::NoRequired, parameter, &fields, &members, 1, assumed, message);
        if dynamic {
            // Its absence is judged with the signature: the value may stand inside the C type.
            if let Some(is_in) = members[4] {
                self.boolean_value(is_in, "isIn", "true");
            }
        }
        ParameterNodes { parameter, name, schema, is_in: members[4] }
    }

    /// A schema field, which is judged in its place.
    pub(super) fn schema_of<const N: usize>(
        &mut self,
        noun: &str,
        owner: NodeId,
        fields: &[super::judge::Field; N],
        members: &super::judge::Members<N>,
        index: usize,
    ) -> Option<NodeId> {
        match members[index] {
            Some(schema) => {
                self.schema(schema, Some(owner));
                Some(schema)
            }
            None => {
                let placeholder = match self.kind {
                    DocumentKind::OpenTool => r#"{"type": "string"}"#,
                    DocumentKind::OpenDyn => r#"{"type": "integer", "cType": {"type": "int", "isPointer": false}}"#,
                };
                self.required(noun, owner, fields, members, index, || placeholder.to_owned())
            }
        }
    }

    pub(super) fn returns(&mut self, returns: NodeId, signature: &mut Signature) {
        let fields = [must("name", Kind::String), must("schema", Kind::Object), may("description", Kind::String)];
        // OpenDyn documents repeat what they say of parameters on the return value, where it means nothing.
        let elsewhere: &[&str] = if self.kind == DocumentKind::OpenDyn { &["isIn", "required"] } else { &[] };
        let members = self.members(returns, &fields, elsewhere);
        let name = self.required("return value", returns, &fields, &members, 0, || json_string("result"));
        let schema = self.schema_of("return value", returns, &fields, &members, 1);
        self.optional_member(&fields, &members, 2);
        signature.returns = Some((returns, name, schema));
    }

    /// A boolean field with a default.
    #[allow(clippy::too_many_arguments, reason = "one caller per field; a struct would only rename the arguments")]
    pub(super) fn boolean<const N: usize>(
        &mut self,
        code: Code,
        object: NodeId,
        fields: &[super::judge::Field; N],
        members: &super::judge::Members<N>,
        index: usize,
        assumed: &str,
        message: impl FnOnce() -> String,
    ) {
        let name = fields[index].name;
        match members[index] {
            Some(node) => self.boolean_value(node, name, assumed),
            None => {
                self.fix(code, At::Value(object), message(), Remedy::Add(object, name, assumed.to_owned()));
            }
        }
    }

    /// A value that must be a boolean; `"true"`, `0` and the like mean one.
    pub(super) fn boolean_value(&mut self, node: NodeId, name: &str, assumed: &str) {
        if self.tree.kind(node) == Kind::Bool {
            return;
        }
        let meant = match self.tree.raw(node) {
            "\"true\"" | "1" => Some("true"),
            "\"false\"" | "0" => Some("false"),
            "null" => Some(assumed),
            _ => None,
        };
        let message = format!("`{name}` must be a boolean, not {}", self.tree.kind(node).described());
        let remedy = Remedy::Replace(node, meant.unwrap_or(assumed).to_owned());
        self.propose(meant.is_some(), Code::WrongType, At::Value(node), message, remedy);
    }
}

/// A name that no element of the list has yet, made of a base and the element's place.
fn fresh(names: &Names<'_>, base: &str, index: usize) -> String {
    let suffix = format!("_{}", index + 1);
    let kept: String = base.chars().take(LONGEST_NAME - 8 - suffix.len()).collect();
    let mut name = format!("{kept}{suffix}");
    while names.contains_key(&*name) && name.len() < LONGEST_NAME {
        name.push('_');
    }
    name
}

/// The legal name nearest to an illegal one.
fn legal(names: &Names<'_>, name: &str, index: usize) -> String {
    let kept: String = name
        .trim()
        .chars()
        .map(|char| if char.is_ascii_alphanumeric() || char == '-' { char } else { '_' })
        .take(LONGEST_NAME)
        .collect();
    if kept.bytes().any(|byte| byte.is_ascii_alphanumeric()) && !names.contains_key(&*kept) {
        kept
    } else {
        fresh(names, "function", index)
    }
}
