//! The two older generations of documents, which have the version `"1.0.0"` like the current one and differ only in shape.

use foldhash::HashSet;

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    kind::{DocumentGeneration, DocumentKind},
    names::Names,
    signature::Signature,
    synonyms::{said_boolean, type_meant},
};
use crate::tree::{Edit, Kind, NewValue, NodeId, json_string};

/// The key under which a function keeps the other keywords of a JSON Schema of parameters.
const KEPT: &str = "x-parameters";

impl<'a> Checker<'_, 'a> {
    /// Parameters that are an object: a JSON Schema (generation A), parameters by name (generation B), or one parameter
    /// without the brackets of a list.
    pub(super) fn older_parameters(&mut self, function: NodeId, parameters: NodeId, signature: &mut Signature) {
        let tree = self.tree;
        if self.is_lone_parameter(parameters) {
            self.lone_parameter(parameters, signature);
            return;
        }
        let by_name = tree.children(parameters).all(|member| tree.get(member, "schema").is_some());
        let properties = tree.get(parameters, "properties");
        let own_type = tree.get(parameters, "type").filter(|node| tree.kind(*node) == Kind::String);
        let is_schema = !by_name && (properties.is_some_and(|node| self.holds_schemas(node)) || own_type.is_some());
        if !is_schema {
            if self.generation == DocumentGeneration::C {
                self.generation = DocumentGeneration::B;
            }
            self.parameters_by_name(parameters, signature);
            return;
        }
        self.generation = DocumentGeneration::A;
        let of_object = own_type.is_none_or(|node| self.type_named(node) == Some("object"));
        match properties.map(|node| (node, tree.kind(node))) {
            None | Some((_, Kind::Null)) if of_object => self.schema_as_parameters(function, parameters, None),
            Some((properties, Kind::Object)) => self.schema_as_parameters(function, parameters, Some(properties)),
            Some((properties, kind)) if kind != Kind::Null => {
                let message = format!("`properties` must be an object, not {}", kind.described());
                let help = "write the parameters as a list under `parameters`".to_owned();
                self.report(Code::WrongType, At::Value(properties), message, Some(help));
            }
            _ => self.schema_without_a_name(parameters),
        }
    }

    /// The type that a string names, however it is spelt.
    fn type_named(&self, node: NodeId) -> Option<&'static str> {
        self.tree.string(node).and_then(|name| type_meant(&name))
    }

    /// Whether `properties` of an object of parameters holds schemas, rather than being a parameter of that name.
    fn holds_schemas(&self, properties: NodeId) -> bool {
        let tree = self.tree;
        tree.get(properties, "schema").is_none_or(|schema| !self.looks_like_a_schema(schema))
    }

    /// Whether an object in the place of a list of parameters is itself one parameter.
    fn is_lone_parameter(&self, parameters: NodeId) -> bool {
        let tree = self.tree;
        let is_a = |key: &str, kind: Kind| tree.get(parameters, key).is_some_and(|value| tree.kind(value) == kind);
        if tree.get(parameters, "schema").is_some_and(|schema| self.looks_like_a_schema(schema)) {
            return true;
        }
        if !is_a("name", Kind::String) {
            return false;
        }
        // `{"name": "string", "age": "integer"}` are two parameters, written as their types.
        let all_types = tree.children(parameters).all(|member| self.type_named(member).is_some());
        let required = tree.get(parameters, "required").and_then(|required| said_boolean(tree.raw(required)));
        let is_schema = is_a("properties", Kind::Object) && required.is_none();
        !all_types && !is_schema
    }

    fn lone_parameter(&mut self, parameters: NodeId, signature: &mut Signature) {
        let names = Names::default();
        signature.parameters.push(self.parameter(parameters, Some((0, &names))));
        let (start, end) = self.tree.span(parameters);
        let edits = vec![Edit::insert(start, "["), Edit::insert(end, "]")];
        let message = "`parameters` is one parameter, not a list of parameters".to_owned();
        let remedy = Remedy::Edits("put it in brackets: a list of one".to_owned(), edits);
        self.fix(Code::WrongType, At::Value(parameters), message, remedy);
    }

    /// A schema of something else than an object, which names no parameter.
    fn schema_without_a_name(&mut self, parameters: NodeId) {
        self.schema(parameters, None);
        let text = format!(r#"[{{"name": "value", "schema": {}, "required": true}}]"#, self.tree.inline(parameters));
        let message = "`parameters` is the schema of one value, not a list of parameters".to_owned();
        let help = format!("make it a list of one, and name the parameter: `{text}`");
        let edits = vec![self.tree.replace_value(parameters, text)];
        self.suggest(Code::WrongType, At::Value(parameters), message, Remedy::Edits(help, edits));
    }

    fn schema_as_parameters(&mut self, function: NodeId, parameters: NodeId, properties: Option<NodeId>) {
        let tree = self.tree;
        let required = tree.get(parameters, "required").filter(|list| tree.kind(*list) == Kind::Array);
        if let Some(required) = required {
            self.required_list(required, properties);
        }
        let listed: HashSet<_> =
            required.map(|list| tree.children(list).filter_map(|name| tree.string(name)).collect()).unwrap_or_default();
        let members = properties.map(|properties| tree.children(properties).collect()).unwrap_or_default();
        let mut elements = Vec::new();
        for property in self.last_of_each_key(members) {
            self.property_of_generation_a(property);
            let own = tree.get(property, "required").and_then(|required| said_boolean(tree.raw(required)));
            let required = own.unwrap_or_else(|| listed.contains(&tree.key(property)));
            let is_in = tree.get(property, "isIn").filter(|_| self.kind == DocumentKind::OpenDyn);
            let description = tree.get(property, "description");
            let schema = self.without(property, |key| match key {
                "description" => true,
                "required" => own.is_some(),
                "isIn" => is_in.is_some(),
                _ => false,
            });
            let mut members = vec![("name".to_owned(), NewValue::Text(json_string(&tree.key(property))))];
            members.extend(description.map(|text| ("description".to_owned(), NewValue::Node(text))));
            members.push(("schema".to_owned(), schema));
            members.extend(is_in.map(|is_in| ("isIn".to_owned(), NewValue::Node(is_in))));
            members.push(("required".to_owned(), NewValue::Text(required.to_string())));
            elements.push(NewValue::Object { members, lines: tree.has_lines(property) });
        }
        let array = NewValue::Array { elements, lines: tree.has_lines(parameters) };
        let mut edits = vec![tree.replace_value(parameters, tree.lay_out(parameters, &array))];
        // Other keywords of the schema are kept beside the list.
        let expressed = |key: &str| matches!(key, "type" | "properties") || (key == "required" && required.is_some());
        if tree.children(parameters).any(|member| !expressed(&tree.key(member))) {
            let mut key = KEPT.to_owned();
            while tree.get(function, &key).is_some() {
                key.push_str("-2");
            }
            let kept = tree.lay_out(parameters, &self.without(parameters, expressed));
            edits.push(tree.insert_member(function, &key, &kept));
        }
        let message = "the parameters are a JSON Schema, as in early documents, not a list".to_owned();
        let remedy = Remedy::Edits("make them a list".to_owned(), edits);
        self.fix(Code::GenerationA, At::Value(parameters), message, remedy);
    }

    fn parameters_by_name(&mut self, parameters: NodeId, signature: &mut Signature) {
        let tree = self.tree;
        let members = tree.children(parameters).collect();
        let mut elements = Vec::new();
        for member in self.last_of_each_key(members) {
            let mut parts = self.named_by_key(member);
            if tree.kind(member) == Kind::Object {
                signature.parameters.push(self.parameter(member, None));
            } else {
                let message = format!("a parameter must be an object, not {}", tree.kind(member).described());
                let text = r#"{"schema": {"type": "string"}, "required": false}"#.to_owned();
                self.suggest(Code::WrongType, At::Value(member), message, Remedy::Replace(member, text));
                parts.push(("schema".to_owned(), NewValue::Node(member)));
            }
            elements.push(NewValue::Object { members: parts, lines: tree.has_lines(member) });
        }
        let array = NewValue::Array { elements, lines: tree.has_lines(parameters) };
        let text = tree.lay_out(parameters, &array);
        let message = "the parameters are an object by name, as in early documents, not a list".to_owned();
        let remedy = Remedy::Edits("make them a list".to_owned(), vec![tree.replace_value(parameters, text)]);
        self.fix(Code::GenerationB, At::Value(parameters), message, remedy);
    }

    /// Functions that are an object: by name, or one function without the brackets of a list.
    pub(super) fn functions_in_an_object(&mut self, functions: NodeId) {
        let tree = self.tree;
        let message = "`functions` must be an array, not an object".to_owned();
        let at = At::Value(functions);
        let members: Vec<_> = self.last_of_each_key(tree.children(functions).collect());
        if tree.get(functions, "name").is_some_and(|name| tree.kind(name) == Kind::String) {
            let (start, end) = tree.span(functions);
            let edits = vec![Edit::insert(start, "["), Edit::insert(end, "]")];
            let remedy = Remedy::Edits("put the function in brackets: a list of one".to_owned(), edits);
            self.fix(Code::WrongType, at, message, remedy);
        } else if !members.is_empty() && members.iter().all(|member| tree.kind(*member) == Kind::Object) {
            let elements = members
                .iter()
                .map(|member| NewValue::Object { members: self.named_by_key(*member), lines: tree.has_lines(*member) });
            let array = NewValue::Array { elements: elements.collect(), lines: tree.has_lines(functions) };
            let edits = vec![tree.replace_value(functions, tree.lay_out(functions, &array))];
            let remedy =
                Remedy::Edits("make it a list of functions, each with its key as its `name`".to_owned(), edits);
            self.fix(Code::WrongType, at, message, remedy);
        } else if members.is_empty() {
            self.fix(Code::WrongType, at, message, Remedy::Replace(functions, "[]".to_owned()));
        } else {
            let help =
                "write a list of functions, each an object with `name`, `description` and `parameters`".to_owned();
            let edits = vec![tree.replace_value(functions, "[]")];
            self.suggest(Code::WrongType, at, message, Remedy::Edits(help, edits));
        }
    }

    /// A return value under `returns`: by name (generation B), or in the current shape.
    pub(super) fn older_returns(&mut self, returns: NodeId, current: Option<NodeId>, signature: &mut Signature) {
        let tree = self.tree;
        if current.is_some_and(|current| tree.kind(current) != Kind::Null) {
            let message = "`returns` is beside `return`, which takes precedence".to_owned();
            self.fix(Code::Returns, At::Key(returns), message, Remedy::Remove(returns));
            return;
        }
        let in_shape = tree.get(returns, "name").is_some_and(|name| tree.kind(name) == Kind::String);
        let values: Vec<_> = self.last_of_each_key(tree.children(returns).collect());
        let by_name = !values.is_empty() && values.iter().all(|value| tree.get(*value, "schema").is_some());
        let value = match tree.kind(returns) {
            Kind::Null => None,
            Kind::Object if in_shape => {
                self.returns(returns, signature);
                None
            }
            Kind::Object if by_name => {
                for value in &values {
                    if let Some(schema) = tree.get(*value, "schema") {
                        self.schema(schema, Some(*value));
                    }
                }
                Some(self.returns_by_name(returns, &values))
            }
            Kind::Object if values.is_empty() => Some(NewValue::Text("null".to_owned())),
            Kind::Object => {
                self.schema(returns, None);
                Some(self.named_result(returns, NewValue::Node(returns)))
            }
            kind => {
                let message = format!("`returns` must be an object, not {}", kind.described());
                self.suggest(Code::WrongType, At::Value(returns), message, Remedy::Remove(returns));
                return;
            }
        };
        let mut edits = vec![tree.rename_member(returns, "return")];
        edits.extend(value.map(|value| tree.replace_value(returns, tree.lay_out(returns, &value))));
        // A `null` beside it means nothing, and would clash with the new name.
        edits.extend(current.map(|current| tree.remove_child(current)));
        let message = "the return value is under `returns`, as in early documents".to_owned();
        self.fix(Code::Returns, At::Key(returns), message, Remedy::Edits("write `return`".to_owned(), edits));
    }

    /// The members of an object, with its key as its name.
    fn named_by_key(&self, node: NodeId) -> Vec<(String, NewValue)> {
        let tree = self.tree;
        let name = tree.key(node);
        let mut members = vec![("name".to_owned(), NewValue::Text(json_string(&name)))];
        if tree.kind(node) == Kind::Object {
            for member in self.last_of_each_key(tree.children(node).collect()) {
                match &*tree.key(member) {
                    "name" if tree.string(member).as_ref() == Some(&name) => {}
                    // The key is the name; what else stands there is kept.
                    "name" => members.push(("x-name".to_owned(), NewValue::Node(member))),
                    key => members.push((key.to_owned(), NewValue::Node(member))),
                }
            }
        }
        members
    }

    /// One return value by name, or several as the properties of one object.
    fn returns_by_name(&self, returns: NodeId, values: &[NodeId]) -> NewValue {
        let tree = self.tree;
        if let [value] = values {
            return NewValue::Object { members: self.named_by_key(*value), lines: tree.has_lines(*value) };
        }
        let lines = tree.has_lines(returns);
        let property = |value: &NodeId| {
            let schema = tree.get(*value, "schema").filter(|schema| tree.kind(*schema) == Kind::Object);
            let schema = schema.map_or(NewValue::Node(*value), |schema| self.unwrapped(*value, schema));
            (tree.key(*value).into_owned(), schema)
        };
        let properties = NewValue::Object { members: values.iter().map(property).collect(), lines };
        let kind = NewValue::Text(json_string("object"));
        let schema =
            NewValue::Object { members: vec![("type".to_owned(), kind), ("properties".to_owned(), properties)], lines };
        self.named_result(returns, schema)
    }

    fn named_result(&self, returns: NodeId, schema: NewValue) -> NewValue {
        let name = NewValue::Text(json_string("result"));
        let members = vec![("name".to_owned(), name), ("schema".to_owned(), schema)];
        NewValue::Object { members, lines: self.tree.has_lines(returns) }
    }

    /// An object without some of its members.
    fn without(&self, node: NodeId, drop: impl Fn(&str) -> bool) -> NewValue {
        let tree = self.tree;
        if tree.kind(node) != Kind::Object {
            return NewValue::Node(node);
        }
        let kept = self.last_of_each_key(tree.children(node).filter(|member| !drop(&tree.key(*member))).collect());
        let members = kept.iter().map(|member| (tree.key(*member).into_owned(), NewValue::Node(*member)));
        NewValue::Object { members: members.collect(), lines: tree.has_lines(node) }
    }
}
