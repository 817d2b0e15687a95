//! What schemas say about values: [`Schemas`].

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use opentool_spec::{CType, CTypeName, DynSchema, Map, OpenDyn, ReferenceError, SchemaType};
use serde_json::Value as Json;

use super::document_faults::DocumentFaults;
use super::layout::StructLayout;
use super::layouts::Layouts;

/// The schemas of a document.
#[derive(Debug)]
pub(super) struct Schemas<'a> {
    document: &'a OpenDyn,
    layouts: Layouts<'a>,
    /// The schemas that have errors, with their names and what is wrong.
    unusable: HashMap<*const DynSchema, (&'a str, &'a str)>,
    /// Where references end.
    ends: RefCell<HashMap<&'a str, Result<&'a DynSchema, ReferenceError>>>,
}

/// What C and the caller see of a value.
#[derive(Debug)]
pub(super) struct Type<'a> {
    pub(super) shape: Shape,
    /// The unknown keys of the schema.
    pub(super) extra: &'a Map,
}

/// What a value is made of.
#[derive(Debug)]
pub(super) enum Shape {
    /// One of the types of the spec.
    Plain(PlainType),
    Struct(Arc<StructLayout>),
    /// An array of structs.
    Structs(Arc<StructLayout>),
}

/// A value of the types of the spec.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlainType {
    pub(super) schema_type: Option<SchemaType>,
    pub(super) name: CTypeName,
    pub(super) is_pointer: bool,
}

impl<'a> Schemas<'a> {
    pub(super) fn new(document: &'a OpenDyn, faults: &'a DocumentFaults) -> Self {
        let schema = |name: &String| Some(std::ptr::from_ref(document.schemas.as_ref()?.get(name)?));
        let unusable = faults.of_schemas.iter();
        let unusable = unusable.filter_map(|(name, reason)| Some((schema(name)?, (name.as_str(), reason.as_str()))));
        let unusable = unusable.collect();
        Schemas { document, layouts: Layouts::new(document), unusable, ends: RefCell::default() }
    }

    /// What a schema says, at the end of its references.
    pub(super) fn type_of(&self, schema: &'a DynSchema) -> Result<Type<'a>, String> {
        let end = match &schema.reference {
            Some(reference) => self.end(reference)?,
            None => schema,
        };
        self.usable(end)?;
        let extra = &end.extra;
        if extra.contains_key("x-struct") {
            return Ok(Type { shape: Shape::Struct(self.layouts.of_schema(end)?), extra });
        }
        let (name, is_pointer) = match (&end.c_type, end.schema_type) {
            (Some(CType { name, is_pointer, .. }), _) => (*name, *is_pointer),
            (None, Some(SchemaType::Boolean)) => (CTypeName::Bool, false),
            (None, Some(SchemaType::Integer)) => (CTypeName::Int, false),
            (None, Some(SchemaType::Number)) => (CTypeName::Double, false),
            (None, Some(SchemaType::String)) => (CTypeName::Char, true),
            (None, Some(SchemaType::Array)) => {
                return match self.struct_of_items(extra)? {
                    Some(layout) => Ok(Type { shape: Shape::Structs(layout), extra }),
                    None => Err("an array has no C type of its own: say which with `cType`".to_owned()),
                };
            }
            (None, Some(SchemaType::Object)) => {
                return Err("an object is passed as a struct: say by `x-struct` how it lies in memory".to_owned());
            }
            (None, None) => return Err("the schema says neither `type` nor `cType`".to_owned()),
        };
        if end.schema_type == Some(SchemaType::Object) {
            return Err("an object has no `cType`: say by `x-struct` how the struct lies in memory".to_owned());
        }
        Ok(Type { shape: Shape::Plain(PlainType { schema_type: end.schema_type, name, is_pointer }), extra })
    }

    fn end(&self, reference: &'a str) -> Result<&'a DynSchema, String> {
        let mut ends = self.ends.borrow_mut();
        let end = ends.entry(reference).or_insert_with(|| self.document.resolve(reference));
        end.clone().map_err(|error| error.to_string())
    }

    fn usable(&self, schema: &DynSchema) -> Result<(), String> {
        match self.unusable.get(&std::ptr::from_ref(schema)) {
            Some((name, reason)) => Err(format!("the schema `{name}` cannot be used: {reason}")),
            None => Ok(()),
        }
    }

    /// The struct that the elements of an array are.
    fn struct_of_items(&self, array: &'a Map) -> Result<Option<Arc<StructLayout>>, String> {
        let Some(reference) = array.get("items").and_then(|items| items.get("$ref")).and_then(Json::as_str) else {
            return Ok(None);
        };
        let end = self.end(reference)?;
        self.usable(end)?;
        if !end.extra.contains_key("x-struct") {
            return Ok(None);
        }
        self.layouts.of_schema(end).map(Some)
    }
}
