//! Functions.

use foldhash::HashMapExt as _;

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    field::{may, must, should},
    kind::DocumentKind,
    names::{LONGEST_NAME, Names, is_valid_name, unused_name, valid_name},
    signature::Signature,
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
}
