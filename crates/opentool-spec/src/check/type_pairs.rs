//! Types of a schema and C types that do not go together, which no library is needed to see.

use super::{
    c_types::Passed,
    checker::Checker,
    code::Code,
    draft::At,
    signature::Signature,
};
use crate::{
    model::{CTypeName, SchemaType},
    tree::NodeId,
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
                self.pair(owner, passed);
            }
        }
    }

    /// A value of a type that no value of the C type is.
    fn pair(&mut self, owner: NodeId, passed: Passed) {
        let (Some(name), Some(schema_type), Some(c_type)) = (passed.name, passed.schema_type, passed.node) else { return };
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
        let message = format!("{} cannot be passed as `{name}{star}`", schema_type.described());
        let help = match schema_type {
            SchemaType::String => "a string is passed as `char *`; otherwise correct the type of the schema",
            _ => "a boolean is passed as `bool` or an integer; otherwise correct the type of the schema",
        };
        let inside = self.tree.span(owner).0 <= self.tree.span(c_type).0 && self.tree.span(c_type).1 <= self.tree.span(owner).1;
        let at = At::Value(if inside { c_type } else { owner });
        self.report(Code::TypePair, at, message, Some(help.to_owned()));
    }
}
