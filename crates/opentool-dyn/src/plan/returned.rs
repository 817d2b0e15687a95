//! What a pointer of the library points to, and what a function returns.

use std::sync::Arc;

use opentool_spec::{DynFunction, SchemaType};

use super::counted;
use super::extension::{Extensions, LARGEST_BUFFER};
use super::layout::{Element, StructLayout};
use super::scalar::{Scalar, Value};
use super::schemas::{PlainType, Shape};
use super::types::{Pointed, Returned};

/// What the pointer of a returned value or of `x-indirect` points to.
pub(super) fn pointed(function: &DynFunction, shape: &Shape, keys: Extensions<'_>) -> Result<Pointed, String> {
    match shape {
        Shape::Struct(layout) => Ok(Pointed::Struct(layout.clone())),
        Shape::Structs(layout) => array(function, Element::Struct(layout.clone()), keys),
        Shape::Plain(PlainType { schema_type, name, is_pointer }) => {
            let scalar = match (Scalar::from_c_type(*name), is_pointer) {
                (Some(scalar), true) => scalar,
                (_, false) => return Err("what the library points to needs `\"isPointer\": true`".to_owned()),
                (None, true) => {
                    return Err("`void *` is a raw address: name the type it stands for by `x-handle`".to_owned());
                }
            };
            match schema_type {
                Some(SchemaType::String) if scalar.is_char() => {
                    let (encoding, length) = (keys.encoding()?.unwrap_or_default(), counted::length(function, keys)?);
                    if !encoding.is_text() && length.is_none() {
                        return Err("bytes that are no text need `x-lengthParam`".to_owned());
                    }
                    Ok(Pointed::Text { encoding, length })
                }
                Some(SchemaType::String) => {
                    Err(format!("a string is returned as `char *`, not as `{} *`", scalar.name()))
                }
                Some(SchemaType::Array) => array(function, Element::Scalar(Value::element(scalar)), keys),
                other => Value::new(scalar, *other).map(Pointed::Element),
            }
        }
    }
}

fn array(function: &DynFunction, element: Element, keys: Extensions<'_>) -> Result<Pointed, String> {
    let (size, length) = (counted::size(keys, element.size())?, counted::length(function, keys)?);
    if size.is_none() && length.is_none() {
        return Err("how many elements there are must be said by `x-size` or `x-lengthParam`".to_owned());
    }
    let size = size.unwrap_or(LARGEST_BUFFER / element.size());
    Ok(Pointed::Array { element, size, length })
}

/// What a function returns; none where it is `void`. Handles are not looked at.
pub(super) fn returned(
    function: &DynFunction,
    shape: &Shape,
    keys: Extensions<'_>,
    by_value: impl Fn(&Arc<StructLayout>) -> Result<Arc<StructLayout>, String>,
) -> Result<Option<Returned>, String> {
    let wants_value = keys.flag("x-byValue")?;
    Ok(Some(match shape {
        Shape::Struct(layout) if wants_value => Returned::Struct(by_value(layout)?),
        _ if wants_value => return Err("`x-byValue` needs a struct".to_owned()),
        Shape::Plain(PlainType { schema_type, name, is_pointer: false }) => match Scalar::from_c_type(*name) {
            None => return Ok(None),
            Some(_) if *schema_type == Some(SchemaType::Array) => {
                return Err("an array is returned as a pointer to its elements".to_owned());
            }
            Some(scalar) => Returned::Value(Value::new(scalar, *schema_type)?),
        },
        shape => Returned::Pointer(pointed(function, shape, keys)?),
    }))
}
