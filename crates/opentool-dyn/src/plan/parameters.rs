//! How each parameter of a function is passed.

use std::sync::Arc;

use opentool_spec::{DynFunction, DynParameter, SchemaType};
use serde_json::Value as Json;

use super::callbacks;
use super::counted::{self, DEFAULT_BUFFER};
use super::extension::{Extensions, key_of};
use super::fields;
use super::layout::{Element, StructLayout};
use super::returned;
use super::scalar::{Scalar, Value};
use super::schemas::{PlainType, Schemas, Shape, Type};
use super::types::{HandleSource, Helper, Parameter, ParentHandle, Passing, RetainedArgument};

/// A parameter, and whether its memory must outlive the call.
pub(super) struct PlannedParameter {
    pub(super) parameter: Parameter,
    pub(super) retained: Option<RetainedArgument>,
}

/// Makes the parameters of one function.
pub(super) struct ParameterBuilder<'b, 'a> {
    pub(super) schemas: &'b Schemas<'a>,
    pub(super) function: &'a DynFunction,
    /// The helpers of the function so far.
    pub(super) helpers: Vec<Helper>,
}

impl<'a> ParameterBuilder<'_, 'a> {
    pub(super) fn parameter(&mut self, index: usize, parameter: &'a DynParameter) -> Result<PlannedParameter, String> {
        let Type { shape, extra } = self.schemas.type_of(&parameter.schema)?;
        let keys = Extensions::with_schema(&parameter.extra, extra);
        let passing = self.passing(parameter, &shape, keys)?;
        only_with(keys, "x-byValue", matches!(passing, Passing::StructValue { .. }), "a struct that goes in")?;
        let of_field = matches!(&passing, Passing::Field(_));
        only_with(keys, "x-offset", of_field, "`x-field`")?;
        only_with(keys, "x-lengthField", of_field, "`x-field`")?;
        only_with(keys, "x-when", of_field, "`x-field`")?;
        let makes_handle = matches!(passing, Passing::HandleOut { .. } | Passing::Allocated { .. });
        only_with(keys, "x-parent", makes_handle, "a handle that the function makes")?;
        only_with(keys, "x-close", makes_handle && keys.get("x-parent").is_some(), "`x-parent`")?;
        let takes_free = matches!(passing, Passing::Indirect { .. });
        let own = Extensions::new(&parameter.extra);
        only_with(own, "x-free", takes_free, "a pointer that the function sets (`x-indirect`)")?;
        let scalar = match &passing {
            Passing::Value(value) | Passing::Cell { value, .. } => Some(*value),
            _ => None,
        };
        let names = keys.names(scalar)?.map(Box::new);
        let retained = self.retained(index, &passing, keys)?;
        let is_given = match &passing {
            Passing::Field(field) => field.is_in(),
            Passing::Cell { .. } | Passing::Struct { .. } => parameter.is_in,
            Passing::Callback(_) | Passing::UserData => false,
            passing => !passing.is_out(),
        };
        let required = parameter.required && is_given;
        let (name, key) = (parameter.name.as_str().into(), key_of(&parameter.name));
        Ok(PlannedParameter { parameter: Parameter { name, key, required, passing, names }, retained })
    }

    fn passing(&mut self, parameter: &'a DynParameter, shape: &Shape, keys: Extensions<'a>) -> Result<Passing, String> {
        let out = !parameter.is_in;
        if let Some(named) = keys.name("x-field")? {
            let field = fields::field(self.function, parameter, named, shape, keys)?;
            return Ok(Passing::Field(Box::new(field)));
        }
        if let Some(of) = counted::parameter(self.function, keys, "x-events")? {
            return if out {
                Ok(Passing::Events { of })
            } else {
                Err("`x-events` goes out: say `\"isIn\": false`".into())
            };
        }
        if let Some(declared) = keys.get("x-callback") {
            let declared = declared.as_object().ok_or("`x-callback` must be an object")?;
            if !out {
                return Err("a callback's calls go out: say `\"isIn\": false`".to_owned());
            }
            let kept = keys.get("x-keep").is_some();
            return callbacks::callback(&parameter.name, declared, kept).map(Passing::Callback);
        }
        if keys.flag("x-userData")? {
            return match shape {
                Shape::Plain(PlainType { is_pointer: true, .. }) => Ok(Passing::UserData),
                _ => Err("`x-userData` needs a pointer".to_owned()),
            };
        }
        let indirect = keys.flag("x-indirect")?;
        let closes = keys.flag("x-closes")?;
        if let Some(kind) = keys.name("x-handle")? {
            let Shape::Plain(PlainType { is_pointer: true, .. }) = shape else {
                return Err("`x-handle` needs a pointer".to_owned());
            };
            if indirect && out {
                return Err("a handle that the function makes needs no `x-indirect`".to_owned());
            }
            if indirect && !closes {
                return Err("`x-indirect` of a handle that goes in needs `x-closes`: the function ends it".to_owned());
            }
            return self.handle(kind.into(), out, (closes, indirect), keys);
        }
        if closes {
            return Err("`x-closes` needs `x-handle`".to_owned());
        }
        if keys.get("x-allocate").is_some() {
            return Err("`x-allocate` needs `x-handle`".to_owned());
        }
        if indirect {
            if !out {
                return Err("`x-indirect` goes out: say `\"isIn\": false`".to_owned());
            }
            let pointed = returned::pointed(self.function, shape, keys)?;
            let free = keys.name("x-free")?.map(|symbol| self.helper("x-free", symbol));
            return Ok(Passing::Indirect { pointed, free });
        }
        let in_out = keys.flag("x-inOut")?;
        if in_out && out {
            return Err("what goes in and out goes in: say `\"isIn\": true` beside `x-inOut`".to_owned());
        }
        match shape {
            Shape::Plain(plain) => plain_passing(self.function, *plain, keys, out, in_out),
            Shape::Struct(layout) => struct_passing(layout, keys, out, in_out),
            Shape::Structs(_) if in_out => Err("`x-inOut` is for numbers and structs, not for arrays".to_owned()),
            Shape::Structs(layout) => array_passing(self.function, Element::Struct(layout.clone()), keys, out),
        }
    }

    fn handle(
        &mut self,
        kind: Arc<str>,
        out: bool,
        (closes, indirect): (bool, bool),
        keys: Extensions<'a>,
    ) -> Result<Passing, String> {
        if keys.flag("x-inOut")? {
            return Err("a handle does not go in and out: name it twice".to_owned());
        }
        match (out, keys.count("x-allocate")?) {
            (true, _) if closes => Err("`x-closes` needs a handle that goes in".to_owned()),
            (true, Some(size)) => Ok(Passing::Allocated { kind, size, parent: self.parent(keys)? }),
            (true, None) => Ok(Passing::HandleOut { kind, parent: self.parent(keys)? }),
            (false, Some(_)) => Err("`x-allocate` needs a handle that goes out: say `\"isIn\": false`".to_owned()),
            (false, None) => Ok(Passing::Handle { kind, closes, indirect }),
        }
    }

    /// What a handle that is made belongs to.
    pub(super) fn parent(&mut self, keys: Extensions<'a>) -> Result<Option<ParentHandle>, String> {
        let Some(parameter) = counted::parameter(self.function, keys, "x-parent")? else { return Ok(None) };
        let close = keys.name("x-close")?.map(|symbol| self.helper("x-close", symbol));
        Ok(Some(ParentHandle { parameter, close }))
    }

    pub(super) fn helper(&mut self, key: &'static str, symbol: &str) -> usize {
        self.helpers.push(Helper { key, symbol: symbol.to_owned() });
        self.helpers.len() - 1
    }

    fn retained(
        &self,
        index: usize,
        passing: &Passing,
        keys: Extensions<'a>,
    ) -> Result<Option<RetainedArgument>, String> {
        let Some(name) = keys.name("x-keep")? else { return Ok(None) };
        let keepable = matches!(
            passing,
            Passing::Text { .. } | Passing::Array { .. } | Passing::Struct { goes_in: true, .. } | Passing::Callback(_)
        );
        if !keepable {
            return Err("`x-keep` needs a text, an array or a struct that goes in, or a callback".to_owned());
        }
        let handle = match self.function.returns.as_ref().is_some_and(|returns| returns.name == name) {
            true => HandleSource::Return,
            false => HandleSource::Parameter(counted::position(self.function, "x-keep", name)?),
        };
        Ok(Some(RetainedArgument { parameter: index, handle }))
    }
}

fn plain_passing(
    function: &DynFunction,
    seen: PlainType,
    keys: Extensions<'_>,
    out: bool,
    in_out: bool,
) -> Result<Passing, String> {
    let scalar = match Scalar::from_c_type(seen.name) {
        Some(scalar) => scalar,
        None if seen.is_pointer => {
            return Err("`void *` is a raw address, which callers may not see: name its type by `x-handle`".into());
        }
        None => return Err("a parameter cannot be `void`".to_owned()),
    };
    let is_array = seen.schema_type == Some(SchemaType::Array);
    if !seen.is_pointer {
        return match (is_array, out || in_out) {
            (true, _) => Err("an array is passed as a pointer to its elements: say `\"isPointer\": true`".into()),
            (_, true) => Err("what goes out needs a pointer to write through: say `\"isPointer\": true`".into()),
            _ => Value::new(scalar, seen.schema_type).map(Passing::Value),
        };
    }
    let is_text = seen.schema_type == Some(SchemaType::String);
    if !is_array && !is_text {
        return Value::new(scalar, seen.schema_type).map(|value| Passing::Cell { value, out: out || in_out });
    }
    if in_out {
        return Err("`x-inOut` is for numbers and structs, not for texts and arrays".to_owned());
    }
    if is_array {
        return array_passing(function, Element::Scalar(Value::element(scalar)), keys, out);
    }
    if !scalar.is_char() {
        return Err(format!("a string is passed as `char *`, not as `{} *`", scalar.name()));
    }
    let encoding = keys.encoding()?.unwrap_or_default();
    if out {
        let buffer = counted::buffer(function, keys, 1, Some(DEFAULT_BUFFER))?;
        return Ok(Passing::TextOut { buffer, encoding });
    }
    Ok(Passing::Text { encoding, count: counted::parameter(function, keys, "x-lengthParam")? })
}

fn array_passing(function: &DynFunction, element: Element, keys: Extensions<'_>, out: bool) -> Result<Passing, String> {
    Ok(if out {
        let buffer = counted::buffer(function, keys, element.size(), None)?;
        Passing::ArrayOut { element, buffer }
    } else {
        Passing::Array { element, count: counted::parameter(function, keys, "x-lengthParam")? }
    })
}

fn struct_passing(
    layout: &Arc<StructLayout>,
    keys: Extensions<'_>,
    out: bool,
    in_out: bool,
) -> Result<Passing, String> {
    if !keys.flag("x-byValue")? {
        return Ok(Passing::Struct { layout: layout.clone(), goes_in: !out, goes_out: out || in_out });
    }
    if out || in_out {
        return Err("a struct by value goes in: `x-byValue` needs `\"isIn\": true` without `x-inOut`".to_owned());
    }
    by_value(layout).map(|layout| Passing::StructValue { layout })
}

/// A layout that can be passed by value.
pub(super) fn by_value(layout: &Arc<StructLayout>) -> Result<Arc<StructLayout>, String> {
    match &layout.not_by_value {
        Some(reason) => Err(format!("`{}`: {reason}", layout.name)),
        None => Ok(layout.clone()),
    }
}

/// Refuses a key where what it belongs to is not there.
fn only_with(keys: Extensions<'_>, key: &str, is_there: bool, needed: &str) -> Result<(), String> {
    match keys.get(key) {
        Some(Json::Bool(false)) | None => Ok(()),
        Some(_) if is_there => Ok(()),
        Some(_) => Err(format!("`{key}` needs {needed}")),
    }
}
