//! Functions, their parameters and their return values.

use foldhash::HashMapExt as _;

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    field::{SpecObject, may, must, should},
    kind::DocumentKind,
    names::{LONGEST_NAME, Names, is_valid_name, unused_name, valid_name},
    signature::{ParameterNodes, Signature},
};
use crate::tree::{Kind, NodeId, json_string, quote};

impl<'a> Checker<'_, 'a> {
    pub(super) fn functions(&mut self, functions: NodeId) {
        let names = self.names(functions);
        let mut empty = true;
        for (index, function) in self.tree.children(functions).enumerate() {
            empty = false;
            if self.tree.kind(function) != Kind::Object {
                let name = unused_name(&names, "function", index);
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
            self.report(Code::NoFunctions, At::Value(functions), "there are no functions".to_owned(), Some(help));
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
        let object = self.object("function", function, fields, &["returns", "stream"]);

        let placeholder = || json_string(&unused_name(names, "function", index));
        let name = self.required(&object, 0, placeholder);
        let name_text = name.and_then(|name| self.tree.string(name));
        if let (Some(node), Some(text)) = (name, &name_text) {
            self.function_name(function, node, text, index, names);
        }

        let shown = name_text.as_deref().filter(|name| is_valid_name(name)).unwrap_or("it");
        let placeholder = || json_string(&format!("What {shown} does."));
        if let Some(description) = self.required(&object, 1, placeholder)
            && self.tree.string(description).is_some_and(|text| text.trim().is_empty())
        {
            let message = "the description is empty: models do not know what the function does".to_owned();
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
        match object.members[2] {
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
                kind => self.not_parameters(parameters, kind),
            },
        }

        if let Some(returns) = object.members[3] {
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
            self.older_returns(older, object.members[3], &mut signature);
            self.in_older = false;
        }
        if let Some(stream) = self.tree.get(function, "stream") {
            let message = "`stream` is an extension: only some clients know it".to_owned();
            self.report(Code::Stream, At::Key(stream), message, None);
        }
        if self.kind == DocumentKind::OpenDyn {
            self.signatures.push(signature);
        }
    }

    fn not_parameters(&mut self, parameters: NodeId, kind: Kind) {
        let message = format!("`parameters` must be an array, not {}", kind.described());
        let edit = self.tree.replace_value(parameters, "[]");
        let help = match kind {
            Kind::Object => "a reference cannot stand for a list: write the parameters here, or `[]` for none",
            Kind::Null => "write `[]`",
            _ => "write a list of parameters, or `[]` for none",
        };
        let remedy = Remedy::Edits(help.to_owned(), vec![edit]);
        self.propose(kind == Kind::Null, Code::WrongType, At::Value(parameters), message, remedy);
    }

    fn function_name(&mut self, function: NodeId, node: NodeId, name: &str, index: usize, names: &Names<'a>) {
        if !is_valid_name(name) {
            let illegal = name.chars().find(|char| !char.is_ascii_alphanumeric() && !matches!(char, '-' | '_'));
            let message = match illegal {
                Some(char) => format!("a function's name has only a-z, A-Z, 0-9, - and _, not {char:?}"),
                None if name.is_empty() => "a function's name is empty".to_owned(),
                None => format!("a function's name has at most {LONGEST_NAME} characters, this one {}", name.len()),
            };
            let remedy = Remedy::Replace(node, json_string(&valid_name(names, name, index)));
            self.suggest(Code::InvalidName, At::Value(node), message, remedy);
        } else if let Some(first) = names.get(name).filter(|first| **first != function) {
            let message = format!("`{name}` is already the name of {}", self.tree.pointer(*first));
            let remedy = Remedy::Replace(node, json_string(&unused_name(names, name, index)));
            self.suggest(Code::DuplicateFunction, At::Value(node), message, remedy);
        }
    }

    fn parameters(&mut self, parameters: NodeId, signature: &mut Signature) {
        let names = self.names(parameters);
        for (index, parameter) in self.tree.children(parameters).enumerate() {
            if self.tree.kind(parameter) != Kind::Object {
                let name = unused_name(&names, "parameter", index);
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
                let remedy = Remedy::Replace(node, json_string(&unused_name(&names, "parameter", index)));
                self.suggest(Code::EmptyParameterName, At::Value(node), message, remedy);
            }
            if let (Some(node), Some(text)) = (nodes.name, nodes.name.and_then(|name| self.tree.string(name)))
                && let Some(first) = names.get(&text).filter(|first| **first != parameter)
            {
                let message = format!("{} is already the name of {}", quote(&text), self.tree.pointer(*first));
                let remedy = Remedy::Replace(node, json_string(&unused_name(&names, &text, index)));
                self.suggest(Code::DuplicateParameter, At::Value(node), message, remedy);
            }
            signature.parameters.push(nodes);
        }
    }

    /// Checks a parameter; without names where its key is its name.
    pub(super) fn parameter(&mut self, parameter: NodeId, names: Option<(usize, &Names<'a>)>) -> ParameterNodes {
        let dynamic = self.kind == DocumentKind::OpenDyn;
        // A field without a name is one that this kind of document does not have.
        let none = may("", Kind::Null);
        let fields = [
            must("schema", Kind::Object),
            should("required", Kind::Bool, Code::NoRequired),
            may("description", Kind::String),
            if names.is_some() { must("name", Kind::String) } else { none },
            if dynamic { should("isIn", Kind::Bool, Code::NoIsIn) } else { none },
        ];
        let beside = self.schema_beside(parameter);
        let by_key = names.is_none().then_some("name");
        let handled: Vec<&str> = beside.iter().map(|key| &**key).chain(by_key).collect();
        let object = self.object("parameter", parameter, fields, &handled);
        let name = names.and_then(|(index, names)| {
            let placeholder = || json_string(&unused_name(names, "parameter", index));
            self.required(&object, 3, placeholder)
        });
        let schema = if beside.is_empty() { self.schema_field(&object, 0) } else { None };
        self.optional_member(&object, 2);

        let assumed = if dynamic { "true" } else { "false" };
        let message = || format!("the parameter does not say whether it is `required`: {assumed} is assumed");
        self.boolean(&object, 1, assumed, message);
        if dynamic {
            // Its absence is checked with the signature: the value may be inside the C type.
            if let Some(is_in) = object.members[4] {
                self.boolean_value(is_in, "isIn", "true");
            }
        }
        ParameterNodes { parameter, name, schema, is_in: object.members[4] }
    }

    /// A field that holds a schema.
    fn schema_field<const N: usize>(&mut self, object: &SpecObject<N>, index: usize) -> Option<NodeId> {
        if let Some(schema) = object.members[index] {
            self.schema(schema, Some(object.node));
            return Some(schema);
        }
        let placeholder = self.schema_placeholder();
        self.required(object, index, || placeholder.to_owned())
    }

    pub(super) fn returns(&mut self, returns: NodeId, signature: &mut Signature) {
        let fields = [must("name", Kind::String), must("schema", Kind::Object), may("description", Kind::String)];
        // OpenDyn documents repeat the keys of parameters on the return value, where they mean nothing.
        let of_parameters: &[&str] = if self.kind == DocumentKind::OpenDyn { &["isIn", "required"] } else { &[] };
        let beside = self.schema_beside(returns);
        let handled: Vec<&str> = beside.iter().map(|key| &**key).chain(of_parameters.iter().copied()).collect();
        let object = self.object("return value", returns, fields, &handled);
        let name = self.required(&object, 0, || json_string("result"));
        if let Some(name) = name
            && self.tree.string(name).is_some_and(|name| name.trim().is_empty())
        {
            let message = "a return value's name is empty".to_owned();
            let remedy = Remedy::Replace(name, json_string("result"));
            self.suggest(Code::EmptyReturnName, At::Value(name), message, remedy);
        }
        let schema = if beside.is_empty() { self.schema_field(&object, 1) } else { None };
        self.optional_member(&object, 2);
        signature.returns = Some((returns, name, schema));
    }
}
