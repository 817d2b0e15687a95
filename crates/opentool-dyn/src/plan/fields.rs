//! From `x-field` to what is written to a struct and read from it.

use opentool_spec::{DynFunction, DynParameter, SchemaType};
use serde_json::Value as Json;

use super::counted;
use super::extension::{Extensions, LARGEST_BUFFER};
use super::layouts::c_type_of;
use super::scalar::{Scalar, Value};
use super::schemas::{PlainType, Shape};
use super::struct_field::{AccessContent, Condition, FieldAccess, LengthField};

/// The field of a parameter that is one; `named` is what `x-field` says.
pub(super) fn field(
    function: &DynFunction,
    parameter: &DynParameter,
    named: &str,
    shape: &Shape,
    keys: Extensions<'_>,
) -> Result<FieldAccess, String> {
    let (of, _) =
        named.split_once('.').ok_or("`x-field` must be a parameter and a field of it, such as `stream.next_in`")?;
    let of = counted::position(function, "x-field", of)?;
    let offset = keys.offset("x-offset")?.ok_or("`x-field` needs `x-offset`, the field's place in the struct")?;
    let Shape::Plain(PlainType { schema_type, name, is_pointer }) = *shape else {
        return Err("a field that is a struct is not a parameter: name the fields within it".to_owned());
    };
    let scalar = Scalar::from_c_type(name).ok_or("a field cannot be `void`")?;
    let encoding = keys.encoding()?.unwrap_or_default();
    let length = length_field(keys)?;
    let in_out = keys.flag("x-inOut")?;
    let content = if !is_pointer {
        let value = Value::new(scalar, schema_type)?;
        AccessContent::Scalar { value, goes_in: parameter.is_in, goes_out: !parameter.is_in || in_out }
    } else if schema_type != Some(SchemaType::String) || !scalar.is_char() {
        return Err("a field that is a pointer is text or bytes: `char *` with the type `string`".to_owned());
    } else if in_out {
        return Err("`x-inOut` is for fields that are numbers".to_owned());
    } else if parameter.is_in {
        AccessContent::BytesIn { encoding, length }
    } else if keys.count("x-size")?.is_some() {
        let buffer = counted::buffer(function, keys, 1, None)?;
        if buffer.length.is_some() {
            return Err("a field is counted by `x-lengthField`, not by `x-lengthParam`".to_owned());
        }
        AccessContent::BytesOut { encoding, buffer, length }
    } else if !encoding.is_text() && length.is_none() {
        return Err("bytes that are no text need `x-lengthField`".to_owned());
    } else {
        AccessContent::Text { encoding, length }
    };
    let when = condition(function, keys)?;
    if when.is_some() && parameter.is_in {
        return Err("`x-when` is for fields that are read".to_owned());
    }
    Ok(FieldAccess { of, offset, content, when })
}

fn length_field(keys: Extensions<'_>) -> Result<Option<LengthField>, String> {
    let Some(declared) = keys.get("x-lengthField") else { return Ok(None) };
    let wrong = || "`x-lengthField` must be an `offset` and the `cType` of an integer".to_owned();
    let offset = declared.get("offset").and_then(Json::as_u64).and_then(|offset| usize::try_from(offset).ok());
    let offset = offset.filter(|offset| *offset <= LARGEST_BUFFER).ok_or_else(wrong)?;
    let (name, is_pointer) = c_type_of(declared.get("cType").unwrap_or(&Json::Null))?;
    let scalar = Scalar::from_c_type(name).filter(|scalar| scalar.is_integer() && !is_pointer).ok_or_else(wrong)?;
    Ok(Some(LengthField { offset, value: Value::new(scalar, None)? }))
}

fn condition(function: &DynFunction, keys: Extensions<'_>) -> Result<Option<Condition>, String> {
    let Some(declared) = keys.get("x-when") else { return Ok(None) };
    let wrong = || "`x-when` must be a `parameter` and the integers `in` which its value is".to_owned();
    let name = declared.get("parameter").and_then(Json::as_str).ok_or_else(wrong)?;
    let parameter = match function.returns.as_ref().is_some_and(|returns| returns.name == name) {
        true => None,
        false => Some(counted::position(function, "x-when", name)?),
    };
    let integers = declared.get("in").and_then(Json::as_array).ok_or_else(wrong)?;
    let integer = |code: &Json| code.as_i64().map(i128::from).or(code.as_u64().map(i128::from));
    let is_one_of = integers.iter().map(integer).collect::<Option<_>>().ok_or_else(wrong)?;
    Ok(Some(Condition { parameter, is_one_of }))
}
