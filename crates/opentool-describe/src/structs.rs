//! Structs whose fields callers see.

use std::rc::Rc;

use opentool_spec::{DynSchema, SchemaType};
use serde_json::{Map, Value, json};

use crate::ctype::{Type, TypeKind};
use crate::draft::{FunctionDraft, schema_path, seen_as};
use crate::parameter_draft::ParameterDraft;
use crate::records::Records;
use crate::words::{self, Direction};

impl FunctionDraft<'_, '_> {
    /// A struct by value.
    pub(crate) fn struct_value(&mut self, index: usize, key: &Rc<str>) -> Option<()> {
        let schema = self.reference(key)?;
        let draft = ParameterDraft::with_schema(&self.names[index], schema);
        self.push(index, draft.key("x-byValue", true));
        Some(())
    }

    /// A pointer to a struct that callers give, get, or both.
    pub(crate) fn struct_pointer(&mut self, index: usize, key: &Rc<str>) -> Option<()> {
        let name = self.names[index].clone();
        let draft = ParameterDraft::with_schema(&name, self.reference(key)?);
        let target = self.signature.parameters[index].1.pointee()?;
        let said = self.said(index).and_then(|said| said.direction);
        let named = words::direction(self.name, &name);
        if let Some(counter) = self.counter_after(index) {
            return self.struct_array(index, key, counter, said.map_or(!target.is_const, |(_, out)| out));
        }
        if let Some(length) = self.signature.parameters[index].1.array_length().filter(|length| *length > 1) {
            return self.fixed_structs(index, key, length, said.map_or(!target.is_const, |(_, out)| out));
        }
        // A palette may be passed as the address of its first colour.
        let draft = draft.review_if(self.records.is_in_arrays(key), || {
            format!("`{name}` is taken as one struct, but other functions take arrays of them: where this one does too, say `\"type\": \"array\"`")
        });
        let draft = match (said, target.is_const, named) {
            (Some((true, true)), ..) => draft.key("x-inOut", true),
            (Some((_, true)), ..) => draft.out(),
            (Some(_), ..) | (None, true, _) => self.nullable(index, draft),
            (None, false, Some(Direction::Out)) => draft
                .out()
                .review(format!("`{name}` is taken as output by its name: say `\"isIn\": true` where it is read")),
            (None, false, _) => draft.key("x-inOut", true).review(format!(
                "`{name}` is taken as input and output: where it is only one of them, remove `x-inOut`"
            )),
        };
        self.push(index, draft);
        Some(())
    }

    /// So many structs, which the type says.
    fn fixed_structs(&mut self, index: usize, key: &Rc<str>, length: u64, is_out: bool) -> Option<()> {
        let name = self.names[index].clone();
        let reference = self.reference(key)?.reference?;
        let mut schema = DynSchema::default();
        schema.schema_type = Some(SchemaType::Array);
        schema.extra.insert("items".to_owned(), json!({ "$ref": reference }));
        let is_said = self.said(index).and_then(|said| said.direction).is_some();
        let draft = ParameterDraft::with_schema(&name, schema);
        let draft = if is_out {
            draft.out().key("x-size", length).review_if(!is_said, || {
                format!("`{name}` is taken as {length} structs that the function fills: say `\"isIn\": true` where it reads them")
            })
        } else {
            draft.exactly(["minItems", "maxItems"], length)
        };
        self.push(index, draft);
        Some(())
    }

    /// Many structs with their number.
    fn struct_array(&mut self, index: usize, key: &Rc<str>, counter: usize, is_out: bool) -> Option<()> {
        let (name, count) = (self.names[index].clone(), self.names[counter].clone());
        let reference = self.reference(key)?.reference?;
        let mut schema = DynSchema::default();
        schema.schema_type = Some(SchemaType::Array);
        schema.extra.insert("items".to_owned(), json!({ "$ref": reference }));
        let draft = ParameterDraft::with_schema(&name, schema);
        let draft = if is_out {
            let reason = format!("`{name}` is taken as an array of `{count}` structs that the function fills");
            draft.out().key("x-sizeParam", count).review(reason)
        } else {
            self.counts_structs.push(counter);
            draft
                .key("x-lengthParam", count.clone())
                .review(format!("`{count}` is taken as the number of structs in `{name}`"))
        };
        self.push(index, draft);
        Some(())
    }
}

/// The schema of a struct, and those of the structs within it, by their names.
pub(crate) fn schemas(records: &Records<'_>, key: &Rc<str>) -> Vec<(String, DynSchema)> {
    let (Some(record), Some(layout)) = (records.record(key), records.layout(key)) else { return Vec::new() };
    let mut made = Vec::new();
    let (mut properties, mut offsets, mut required) = (Map::new(), Map::new(), Vec::new());
    for (field, offset) in record.fields.iter().flatten().zip(&layout.offsets) {
        let (Some(offset), Some(schema)) = (offset, field_schema(records, &field.kind, &mut made)) else { continue };
        properties.insert(field.name.clone(), schema);
        offsets.insert(field.name.clone(), (*offset).into());
        if field.kind.pointee().is_none() || field.kind.array_length().is_some() {
            required.push(Value::from(field.name.clone()));
        }
    }
    let mut schema = DynSchema::default();
    schema.schema_type = Some(SchemaType::Object);
    schema.extra.insert("properties".to_owned(), properties.into());
    schema.extra.insert("required".to_owned(), required.into());
    let laid_out =
        json!({ "name": record.written(key), "size": layout.size, "align": layout.align, "offsets": offsets });
    schema.extra.insert("x-struct".to_owned(), laid_out);
    made.push((records.name(key), schema));
    made
}

fn field_schema(records: &Records<'_>, kind: &Type, made: &mut Vec<(String, DynSchema)>) -> Option<Value> {
    let c_type = |scalar: opentool_spec::CTypeName| json!({ "type": scalar.as_str(), "isPointer": false });
    if let Some(scalar) = kind.scalar() {
        return Some(json!({ "type": seen_as(scalar), "cType": c_type(scalar) }));
    }
    match kind.resolved().kind {
        TypeKind::Pointer(target) if target.is_bytes() && !target.is_void() => {
            Some(json!({ "type": "string", "cType": { "type": target.scalar()?.as_str(), "isPointer": true } }))
        }
        TypeKind::Record(inner) => {
            made.extend(schemas(records, &inner));
            Some(json!({ "$ref": schema_path(records, &inner) }))
        }
        TypeKind::Array(element, Some(length)) => {
            if element.is_text() {
                return Some(json!({ "type": "string", "cType": c_type(element.scalar()?), "x-size": length }));
            }
            let mut schema = json!({ "type": "array", "minItems": length, "maxItems": length });
            match (element.scalar(), element.record()) {
                (Some(scalar), _) => schema["cType"] = c_type(scalar),
                (None, Some(inner)) => {
                    made.extend(schemas(records, &inner));
                    schema["items"] = json!({ "$ref": schema_path(records, &inner) });
                }
                (None, None) => return None,
            }
            Some(schema)
        }
        _ => None,
    }
}
