//! From the schema of a struct to its layout.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use opentool_spec::{CTypeName, DynSchema, Map, OpenDyn, SchemaType};
use serde_json::Value as Json;

use super::extension::{Extensions, LARGEST_BUFFER, key_of};
use super::layout::{Element, FieldContent, StructField, StructLayout};
use super::scalar::{Scalar, Value};

/// How deep structs may lie within structs.
const DEEPEST: usize = 8;
/// How many values a struct may have, with those of the structs within it.
const MOST_LEAVES: usize = 16_384;
/// How many bytes a struct may have that is passed by value.
const LARGEST_BY_VALUE: usize = 4096;
/// The largest alignment that a C type has.
const LARGEST_ALIGNMENT: usize = 64;

/// The layouts of the structs of a document, each made once.
#[derive(Debug)]
pub(super) struct Layouts<'a> {
    document: &'a OpenDyn,
    known: RefCell<HashMap<*const DynSchema, Result<Arc<StructLayout>, String>>>,
}

/// What a field's schema says.
struct FieldSchema<'a> {
    schema_type: Option<SchemaType>,
    c_type: Option<(CTypeName, bool)>,
    keys: &'a Map,
}

impl<'a> Layouts<'a> {
    pub(super) fn new(document: &'a OpenDyn) -> Self {
        Layouts { document, known: RefCell::default() }
    }

    /// The layout of a schema that has `x-struct`.
    pub(super) fn of_schema(&self, schema: &'a DynSchema) -> Result<Arc<StructLayout>, String> {
        self.at_depth(schema, 0)
    }

    fn at_depth(&self, schema: &'a DynSchema, depth: usize) -> Result<Arc<StructLayout>, String> {
        let id = std::ptr::from_ref(schema);
        if let Some(known) = self.known.borrow().get(&id) {
            return known.clone();
        }
        self.known.borrow_mut().insert(id, Err("the struct contains itself".to_owned()));
        let made = self.layout(&schema.extra, depth);
        self.known.borrow_mut().insert(id, made.clone());
        made
    }

    fn layout(&self, schema: &'a Map, depth: usize) -> Result<Arc<StructLayout>, String> {
        if depth > DEEPEST {
            return Err(format!("structs lie more than {DEEPEST} deep within structs"));
        }
        let Some(Json::Object(laid_out)) = schema.get("x-struct") else {
            return Err("an object needs `x-struct`, which says how the struct lies in memory".to_owned());
        };
        let name = laid_out.get("name").and_then(Json::as_str).unwrap_or("struct");
        let of_struct = |reason: String| format!("`{name}`: {reason}");
        let number =
            |key: &str| laid_out.get(key).and_then(Json::as_u64).and_then(|number| usize::try_from(number).ok());
        let size = number("size").filter(|size| (1..=LARGEST_BUFFER).contains(size));
        let size = size.ok_or_else(|| of_struct(format!("`x-struct` needs a `size` from 1 to {LARGEST_BUFFER}")))?;
        let align = number("align").filter(|align| align.is_power_of_two() && *align <= LARGEST_ALIGNMENT);
        let align = align.ok_or_else(|| {
            of_struct(format!("`x-struct` needs an `align`, a power of two up to {LARGEST_ALIGNMENT}"))
        })?;
        if !size.is_multiple_of(align) {
            return Err(of_struct(format!("its size of {size} is no multiple of its alignment of {align}")));
        }
        let none = Map::new();
        let properties = match schema.get("properties") {
            Some(Json::Object(properties)) => properties,
            None => &none,
            Some(_) => return Err(of_struct("`properties` must be an object".to_owned())),
        };
        let offsets = laid_out.get("offsets").and_then(Json::as_object).unwrap_or(&none);
        if let Some(unknown) = offsets.keys().find(|name| !properties.contains_key(*name)) {
            return Err(of_struct(format!("`offsets` has `{unknown}`, which is no property")));
        }
        let required = |field: &str| {
            let names = schema.get("required").and_then(Json::as_array);
            names.is_some_and(|names| names.iter().any(|name| name == field))
        };
        let mut fields = Vec::with_capacity(properties.len());
        for (field, schema) in properties {
            let in_field = |reason: String| of_struct(format!("field `{field}`: {reason}"));
            let offset = offsets.get(field).and_then(Json::as_u64).and_then(|offset| usize::try_from(offset).ok());
            let offset = offset.ok_or_else(|| in_field("`offsets` does not say where it is".to_owned()))?;
            let content = self.content(schema, depth).map_err(in_field)?;
            let end = offset.checked_add(content.size());
            if end.is_none_or(|end| end > size) {
                return Err(in_field(format!("it ends after the {size} bytes of the struct")));
            }
            let (name, key) = (field.as_str().into(), key_of(field));
            fields.push(StructField { name, key, offset, required: required(field), content });
        }
        let leaves = fields.iter().fold(0_usize, |sum, field| sum.saturating_add(field.content.leaves()));
        if leaves > MOST_LEAVES {
            return Err(of_struct(format!("it has {leaves} values: {MOST_LEAVES} are the most")));
        }
        let not_by_value = unnatural(&fields, size, align);
        Ok(Arc::new(StructLayout { name: name.into(), size, align, fields: fields.into(), leaves, not_by_value }))
    }

    fn content(&self, schema: &'a Json, depth: usize) -> Result<FieldContent, String> {
        let Json::Object(map) = schema else { return Err("its schema must be an object".to_owned()) };
        let referred = match map.get("$ref").and_then(Json::as_str) {
            Some(reference) => Some(self.document.resolve(reference).map_err(|error| error.to_string())?),
            None => None,
        };
        if let Some(schema) = referred.filter(|schema| schema.extra.contains_key("x-struct")) {
            return self.at_depth(schema, depth + 1).map(FieldContent::Struct);
        }
        if map.contains_key("x-struct") {
            return self.layout(map, depth + 1).map(FieldContent::Struct);
        }
        let field = match referred {
            Some(schema) => FieldSchema {
                schema_type: schema.schema_type,
                c_type: schema.c_type.as_ref().map(|c_type| (c_type.name, c_type.is_pointer)),
                keys: &schema.extra,
            },
            None => inline(map)?,
        };
        self.value(&field, depth)
    }

    fn value(&self, field: &FieldSchema<'a>, depth: usize) -> Result<FieldContent, String> {
        let keys = Extensions::new(field.keys);
        if field.schema_type == Some(SchemaType::Array) {
            let count = keys.count("maxItems")?.filter(|count| field.keys.get("minItems") == Some(&Json::from(*count)));
            let count =
                count.ok_or("an array within a struct needs `minItems` and `maxItems`, which are its length")?;
            let element = match field.c_type {
                Some((name, false)) => Element::Scalar(Value::element(scalar(name)?)),
                Some((_, true)) => return Err("an array of pointers has no counterpart for callers".to_owned()),
                None => match self.content(field.keys.get("items").unwrap_or(&Json::Null), depth)? {
                    FieldContent::Struct(layout) => Element::Struct(layout),
                    FieldContent::Scalar(value) => Element::Scalar(value),
                    _ => return Err("an array within a struct has scalars or structs as elements".to_owned()),
                },
            };
            return Ok(FieldContent::Array { element, count });
        }
        let Some((name, is_pointer)) = field.c_type else {
            return Err("its schema needs a `cType`, a `$ref` or `x-struct`".to_owned());
        };
        let scalar = scalar(name)?;
        let is_text = field.schema_type == Some(SchemaType::String) && scalar.is_char();
        let encoding = keys.encoding()?.unwrap_or_default();
        match (is_text, is_pointer, keys.count("x-size")?) {
            (true, true, _) if encoding.is_text() => Ok(FieldContent::TextPointer { encoding }),
            (true, true, _) => Err("bytes behind a pointer cannot be a field: their number is not known".to_owned()),
            (false, true, _) => Err("a pointer within a struct can only be text: leave the field out".to_owned()),
            (true, false, Some(size)) => Ok(FieldContent::Text { size, encoding }),
            (_, false, _) => Value::new(scalar, field.schema_type).map(FieldContent::Scalar),
        }
    }
}

/// A field's schema that is written where the field is.
fn inline(map: &Map) -> Result<FieldSchema<'_>, String> {
    let schema_type = match map.get("type").and_then(Json::as_str) {
        Some(name) => Some(
            SchemaType::from_name(name)
                .or_else(|| SchemaType::from_alias(name))
                .ok_or_else(|| format!("`{name}` is no type"))?,
        ),
        None => None,
    };
    let c_type = match map.get("cType") {
        Some(c_type) => Some(c_type_of(c_type)?),
        None => None,
    };
    Ok(FieldSchema { schema_type, c_type, keys: map })
}

/// A C type as it stands in JSON: its name, and whether it is a pointer.
pub(super) fn c_type_of(c_type: &Json) -> Result<(CTypeName, bool), String> {
    let named = c_type.as_str().or_else(|| c_type.get("type")?.as_str());
    let name = named.and_then(CTypeName::from_name);
    let name = name.ok_or_else(|| format!("{c_type} is no C type of the spec"))?;
    Ok((name, c_type.get("isPointer").and_then(Json::as_bool).unwrap_or(false)))
}

fn scalar(name: CTypeName) -> Result<Scalar, String> {
    Scalar::from_c_type(name).ok_or_else(|| "`void` is no value".to_owned())
}

/// Why a struct is not laid out as C lays out these fields, where it is not.
fn unnatural(fields: &[StructField], size: usize, align: usize) -> Option<String> {
    if size > LARGEST_BY_VALUE {
        return Some(format!("its {size} bytes are too many to be passed by value: {LARGEST_BY_VALUE} are the most"));
    }
    let mut ordered: Vec<&StructField> = fields.iter().collect();
    ordered.sort_by_key(|field| field.offset);
    let (mut end, mut widest) = (0_usize, 1);
    for field in ordered {
        let expected = end.next_multiple_of(field.content.align());
        if field.offset != expected {
            return Some(format!(
                "by value every field must be there: C would put `{}` at {expected}, not at {}",
                field.name, field.offset
            ));
        }
        if let FieldContent::Struct(inner) | FieldContent::Array { element: Element::Struct(inner), .. } =
            &field.content
            && let Some(reason) = &inner.not_by_value
        {
            return Some(reason.clone());
        }
        end = field.offset + field.content.size();
        widest = widest.max(field.content.align());
    }
    let natural = end.next_multiple_of(widest);
    if end == 0 || (natural, widest) != (size, align) {
        return Some(format!(
            "by value every field must be there: those that are listed make {natural} bytes aligned to {widest}, not {size} aligned to {align}"
        ));
    }
    None
}
