//! Parameters and return values, one at a time.

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    field::{SpecObject, may, must, should},
    kind::DocumentKind,
    names::{Names, unused_name},
    signature::{ParameterNodes, Signature},
};
use crate::tree::{Kind, NodeId, json_string};

impl<'a> Checker<'_, 'a> {
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
