//! Variables of a library, which are read by functions without parameters.

use opentool_spec::{CType, CTypeName, DynFunction, DynReturn, DynSchema, SchemaType};

use crate::comments::Comment;
use crate::ctype::{Type, TypeKind};
use crate::declarations::Variable;
use crate::draft::seen_as;

/// A function that reads a variable, where it is a number or a text.
pub(crate) fn reader(variable: &Variable, comment: Option<&Comment>) -> Option<DynFunction> {
    let returns = content(&variable.kind)?;
    let description = match comment.map(|comment| comment.text.as_str()) {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => format!("The C variable `{}`.", variable.kind.declare(&variable.name)),
    };
    let mut function = DynFunction::new(&variable.name, description);
    function.returns = Some(returns);
    function.extra.insert("x-global".to_owned(), true.into());
    function.extra.insert("x-effect".to_owned(), "read".into());
    Some(function)
}

fn content(kind: &Type) -> Option<DynReturn> {
    let returns = |schema: DynSchema| DynReturn::new("result", schema);
    if let Some(scalar) = kind.scalar() {
        return Some(returns(DynSchema::new(seen_as(scalar), CType::value(scalar))));
    }
    let target = kind.pointee()?;
    let is_array = matches!(kind.resolved().kind, TypeKind::Array(..));
    match (is_array, kind.array_length()) {
        (true, Some(length)) => {
            let scalar = target.scalar()?;
            let kind = if target.is_text() { SchemaType::String } else { SchemaType::Array };
            let mut made = returns(DynSchema::new(kind, CType::pointer(scalar)));
            made.extra.insert("x-size".to_owned(), length.into());
            Some(made)
        }
        (false, _) if target.is_text() => {
            Some(returns(DynSchema::new(SchemaType::String, CType::pointer(CTypeName::Char))))
        }
        // An array of unknown length.
        _ => None,
    }
}
