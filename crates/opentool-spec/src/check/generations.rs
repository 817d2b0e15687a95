//! The two older generations of documents, which have the version `"1.0.0"` like the current one and differ only in shape.

use std::borrow::Cow;

use foldhash::HashSet;

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    kind::{DocumentGeneration, DocumentKind},
    names::Names,
    signature::Signature,
    words::{said_boolean, type_meant},
};
use crate::tree::{Edit, Kind, NewValue, NodeId, json_string};

/// The key under which a function keeps the other keywords of a JSON Schema of parameters.
const KEPT: &str = "x-parameters";
/// The members of a parameter that are not part of its schema.
const OF_PARAMETER: [&str; 5] = ["name", "description", "required", "isIn", "schema"];

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

    fn looks_like_a_schema(&self, node: NodeId) -> bool {
        let tree = self.tree;
        let is = |key: &str, kinds: &[Kind]| tree.get(node, key).is_some_and(|value| kinds.contains(&tree.kind(value)));
        is("type", &[Kind::String, Kind::Array])
            || is("$ref", &[Kind::String])
            || is("properties", &[Kind::Object])
            || is("items", &[Kind::Object])
            || is("enum", &[Kind::Array])
            || ["anyOf", "oneOf", "allOf"].iter().any(|key| is(key, &[Kind::Array]))
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

    /// Properties that say by themselves that they are required (generation A), or that have their schema inside
    /// (generation B). The list of the object says it now, once the object's own `required` is one.
    pub(super) fn older_properties(&mut self, schema: NodeId, properties: NodeId, required: Option<NodeId>) {
        let tree = self.tree;
        if required.is_some_and(|required| tree.kind(required) != Kind::Array) {
            return; // checked again when it has become a list
        }
        let mut edits = Vec::new();
        let mut first = None;
        let mut code = Code::GenerationA;
        let mut names: Vec<NodeId> = Vec::new();
        for property in self.last_of_each_key(tree.children(properties).collect()) {
            let own = tree.get(property, "required");
            let said = own.and_then(|own| said_boolean(tree.raw(own)));
            let inside = self.schema_inside(property);
            if inside.is_none() && said.is_none() {
                continue;
            }
            first = first.or(Some(property));
            names.extend((said == Some(true)).then_some(property));
            if let Some(inside) = inside {
                code = Code::GenerationB;
                edits.push(tree.replace_value(property, tree.lay_out(property, &self.unwrapped(property, inside))));
            } else if let Some(own) = own {
                edits.push(tree.remove_child(own));
            }
        }
        let Some(first) = first else { return };
        edits.extend(self.require(schema, required, &names));
        let (message, help) = match code {
            Code::GenerationB => (
                "the property has its schema inside, as in early documents",
                "take it out, and name what is required in the object's `required`",
            ),
            _ => (
                "the property says by itself whether it is required, as in early documents",
                "name what is required in the object's `required`",
            ),
        };
        if self.generation == DocumentGeneration::C || code == Code::GenerationA {
            self.generation = if code == Code::GenerationA { DocumentGeneration::A } else { DocumentGeneration::B };
        }
        self.fix(code, At::Value(first), message.to_owned(), Remedy::Edits(help.to_owned(), edits));
    }

    /// The edit that names properties in the list of required ones.
    fn require(&self, schema: NodeId, required: Option<NodeId>, properties: &[NodeId]) -> Option<Edit> {
        let tree = self.tree;
        let listed: HashSet<_> =
            required.into_iter().flat_map(|list| tree.children(list)).filter_map(|name| tree.string(name)).collect();
        let new = properties.iter().map(|property| tree.key(*property)).filter(|name| !listed.contains(name));
        let new: Vec<_> = new.map(|name| json_string(&name)).collect();
        if new.is_empty() {
            return None;
        }
        Some(match required {
            None => tree.insert_member(schema, "required", &format!("[{}]", new.join(", "))),
            Some(list) => {
                let old = tree.children(list).map(|name| tree.raw(name).to_owned());
                tree.replace_value(list, format!("[{}]", old.chain(new).collect::<Vec<_>>().join(", ")))
            }
        })
    }

    /// The schema that stands inside what should be one, as in generation B.
    pub(super) fn schema_inside(&self, node: NodeId) -> Option<NodeId> {
        let tree = self.tree;
        let known = ["type", "$ref", "properties", "items", "enum", "cType"];
        let inside = tree.get(node, "schema").filter(|schema| tree.kind(*schema) == Kind::Object)?;
        known.iter().all(|key| tree.get(node, key).is_none()).then_some(inside)
    }

    /// A schema that stands inside another, outside of the lists of properties.
    pub(super) fn wrapped_schema(&mut self, schema: NodeId, inside: NodeId) {
        let tree = self.tree;
        let message = "the schema stands inside another, as in early documents".to_owned();
        let edits = vec![tree.replace_value(schema, tree.lay_out(schema, &self.unwrapped(schema, inside)))];
        self.fix(Code::GenerationB, At::Value(schema), message, Remedy::Edits("take it out".to_owned(), edits));
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

    /// The schema of a named value, with the other members of the value but `required`.
    fn unwrapped(&self, value: NodeId, schema: NodeId) -> NewValue {
        let tree = self.tree;
        let said = |member: NodeId| said_boolean(tree.raw(member)).is_some();
        let outer: Vec<_> = self
            .last_of_each_key(tree.children(value).collect())
            .into_iter()
            .filter(|member| *member != schema && !(tree.key(*member) == "required" && said(*member)))
            .collect();
        let replaces = |key: &str| key == "description" && outer.iter().any(|member| tree.key(*member) == key);
        let mut members: Vec<(String, NewValue)> = Vec::new();
        for member in self.last_of_each_key(tree.children(schema).collect()) {
            let key = tree.key(member);
            // The words about the value come before those about its schema, which are kept.
            let key = if replaces(&key) { "x-description".to_owned() } else { key.into_owned() };
            members.push((key, NewValue::Node(member)));
        }
        for member in outer {
            let mut key = tree.key(member).into_owned();
            while members.iter().any(|(other, _)| *other == key) {
                key = format!("x-{key}");
            }
            members.push((key, NewValue::Node(member)));
        }
        NewValue::Object { members, lines: tree.has_lines(schema) }
    }

    /// A parameter or return value whose schema is written beside its name instead of under `schema`: the keys that
    /// belong under it, none where all is right.
    pub(super) fn schema_beside(&mut self, owner: NodeId) -> Vec<Cow<'a, str>> {
        let tree = self.tree;
        if tree.get(owner, "schema").is_some() || !self.looks_like_a_schema(owner) {
            return Vec::new();
        }
        let all = self.last_of_each_key(tree.children(owner).collect());
        let is_list = |member: NodeId| tree.key(member) == "required" && tree.kind(member) == Kind::Array;
        let of_owner = |member: NodeId| {
            let key = tree.key(member);
            (OF_PARAMETER.contains(&&*key) && !is_list(member)) || (key.starts_with("x-") && key != "x-nullable")
        };
        let (own, moved): (Vec<_>, Vec<_>) = all.into_iter().partition(|member| of_owner(*member));
        let pair = |member: &NodeId| (tree.key(*member).into_owned(), NewValue::Node(*member));
        let lines = tree.has_lines(owner);
        let schema = NewValue::Object { members: moved.iter().map(pair).collect(), lines: lines && moved.len() > 2 };
        let mut members: Vec<_> = own.iter().map(pair).collect();
        // After the name and the description, before the rest.
        let words = ["name", "description"];
        let at = members.iter().position(|(key, _)| !words.contains(&key.as_str())).unwrap_or(members.len());
        members.insert(at, ("schema".to_owned(), schema));
        let text = tree.lay_out(owner, &NewValue::Object { members, lines });
        let Some(first) = moved.first() else { return Vec::new() };
        let message = format!("the schema is written beside the name: `{}` belongs under `schema`", tree.key(*first));
        let remedy = Remedy::Edits("move it into `schema`".to_owned(), vec![tree.replace_value(owner, text)]);
        self.fix(Code::MissingField, At::Key(*first), message, remedy);
        moved.iter().map(|member| tree.key(*member)).collect()
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
