//! Types of a schema and C types that do not go together, which no library is needed to see.

use super::{
    c_types::Passed,
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    signature::Signature,
};
use crate::{
    model::{CTypeName, SchemaType},
    tree::{NodeId, json_string},
};

impl Checker<'_, '_> {
    /// Checks the pairs of types of a function. A handle is passed as it is, whatever its types are.
    pub(super) fn type_pairs(&mut self, signature: &Signature) {
        let parameters = signature.parameters.iter().map(|nodes| (nodes.parameter, nodes.schema));
        let returned = signature.returns.map(|(returns, _, schema)| (returns, schema));
        for (owner, schema) in parameters.chain(returned) {
            if self.handle_of(owner, schema).is_none()
                && let Some(passed) = self.passed(schema)
            {
                self.pair(owner, schema, passed);
            }
        }
    }

    /// A value of a type that no value of the C type is.
    fn pair(&mut self, owner: NodeId, schema: Option<NodeId>, passed: Passed) {
        let tree = self.tree;
        let (Some(name), Some(schema_type), Some(c_type)) = (passed.name, passed.schema_type, passed.node) else {
            return;
        };
        let is_char = matches!(name, CTypeName::Char | CTypeName::UnsignedChar);
        let is_float = matches!(name, CTypeName::Float | CTypeName::Double);
        let wrong = match schema_type {
            _ if name == CTypeName::Void => false,
            SchemaType::String if passed.pointer => !is_char,
            SchemaType::String => is_float || name == CTypeName::Bool,
            SchemaType::Boolean => is_float,
            _ => false,
        };
        if !wrong {
            return;
        }
        let star = if passed.pointer { " *" } else { "" };
        let message = format!("{} is not passed as `{name}{star}`", schema_type.described());
        let instead = match schema_type {
            SchemaType::String => "a string is passed as `char *`",
            _ => "a boolean is passed as `bool`",
        };
        // The schema may be shared by several.
        let (start, end) = tree.span(owner);
        let at = At::Value(if (start..end).contains(&tree.span(c_type).0) { c_type } else { owner });
        let declared = schema.and_then(|schema| tree.get(self.references.end_of(schema), "type"));
        match declared.zip(self.visible_type(c_type)) {
            Some((declared, visible)) => {
                let visible = json_string(visible.as_str());
                let help = format!("write `\"type\": {visible}`, or correct the C type: {instead}");
                let edits = vec![tree.replace_value(declared, visible)];
                self.suggest(Code::TypePair, at, message, Remedy::Edits(help, edits));
            }
            None => self.report(Code::TypePair, at, message, Some(format!("correct one of the two types: {instead}"))),
        }
    }
}
