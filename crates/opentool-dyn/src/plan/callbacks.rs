//! From `x-callback` to what a callback does.

use std::sync::Arc;

use opentool_spec::Map;
use serde_json::Value as Json;

use super::callback::{Callback, CallbackAnswer, CallbackArgument, CallbackKind};
use super::extension::{Extensions, integer_word, key_of};
use super::layouts::c_type_of;
use super::scalar::{Scalar, Value};

/// How many calls are recorded where the document does not say it.
const DEFAULT_MOST: u64 = 1000;
/// How many calls may be recorded.
const LARGEST_MOST: u64 = 100_000;
/// More parameters than a callback has.
const MOST_ARGUMENTS: usize = 32;

/// The callback of a parameter.
pub(super) fn callback(name: &str, declared: &Map, kept: bool) -> Result<Arc<Callback>, String> {
    let none = Vec::new();
    let declared_arguments = match declared.get("parameters") {
        Some(Json::Array(arguments)) => arguments,
        None => &none,
        Some(_) => return Err("`x-callback` has `parameters` that are no list".to_owned()),
    };
    if declared_arguments.len() > MOST_ARGUMENTS {
        return Err(format!("a callback has at most {MOST_ARGUMENTS} parameters"));
    }
    let user_data = match declared.get("userData") {
        None | Some(Json::Null) => None,
        Some(index) => {
            let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
            let index = index.filter(|index| *index < declared_arguments.len());
            Some(index.ok_or("`userData` of `x-callback` must be the index of one of its parameters")?)
        }
    };
    let mut arguments = Vec::with_capacity(declared_arguments.len());
    for (index, declared) in declared_arguments.iter().enumerate() {
        let wrong = |reason: String| format!("parameter {index} of the callback: {reason}");
        arguments.push(if user_data == Some(index) {
            CallbackArgument { key: None, kind: CallbackKind::Opaque }
        } else {
            argument(declared, declared_arguments).map_err(wrong)?
        });
    }
    let mut names: Vec<_> = arguments.iter().filter_map(|argument| argument.key.as_ref()).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("two parameters of the callback have the same name".to_owned());
    }
    for argument in &arguments {
        if let CallbackKind::Text { count: Some(count), .. } | CallbackKind::Texts { count: Some(count), .. } =
            argument.kind
            && !matches!(arguments[count].kind, CallbackKind::Scalar(value) if value.scalar.is_integer())
        {
            return Err("`lengthParam` of a callback's parameter must name one that is an integer".to_owned());
        }
    }
    let most = match declared.get("max") {
        None | Some(Json::Null) => DEFAULT_MOST,
        Some(most) => most
            .as_u64()
            .filter(|most| (1..=LARGEST_MOST).contains(most))
            .ok_or_else(|| format!("`max` of `x-callback` must be an integer from 1 to {LARGEST_MOST}"))?,
    };
    let answer = answer(declared.get("returns").unwrap_or(&Json::Null))?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    Ok(Arc::new(Callback { name: name.into(), arguments: arguments.into(), answer, most, kept }))
}

fn argument(declared: &Json, all: &[Json]) -> Result<CallbackArgument, String> {
    let Json::Object(map) = declared else { return Err("it must be an object".to_owned()) };
    let name = map.get("name").and_then(Json::as_str).filter(|name| !name.is_empty()).ok_or("it needs a `name`")?;
    let (c_name, is_pointer) = c_type_of(map.get("cType").ok_or("it needs a `cType`")?)?;
    let count = match map.get("lengthParam") {
        None | Some(Json::Null) => None,
        Some(counter) => {
            let found = all.iter().position(|other| other.get("name").is_some_and(|name| name == counter));
            Some(found.ok_or_else(|| format!("`lengthParam` names {counter}, which is no parameter of the callback"))?)
        }
    };
    let encoding = Extensions::new(map).encoding()?.unwrap_or_default();
    let texts = map.get("texts").and_then(Json::as_bool).unwrap_or(false);
    let kind = match (Scalar::from_c_type(c_name), is_pointer) {
        (None, true) => return Ok(CallbackArgument { key: None, kind: CallbackKind::Opaque }),
        (None, false) => return Err("it cannot be `void`".to_owned()),
        (Some(scalar), true) if texts => match scalar.is_char() && encoding.is_text() {
            true => CallbackKind::Texts { encoding, count },
            false => return Err("`texts` needs `char *`, and an encoding of text".to_owned()),
        },
        (Some(scalar), true) if scalar.is_char() => {
            if !encoding.is_text() && count.is_none() {
                return Err("bytes that are no text need a `lengthParam`".to_owned());
            }
            CallbackKind::Text { encoding, count }
        }
        (Some(scalar), true) => CallbackKind::Element(Value::new(scalar, None)?),
        (Some(scalar), false) => CallbackKind::Scalar(Value::new(scalar, None)?),
    };
    Ok(CallbackArgument { key: Some(key_of(name)), kind })
}

fn answer(declared: &Json) -> Result<CallbackAnswer, String> {
    let (value, constant) = match declared {
        Json::Null => return Ok(CallbackAnswer::Nothing),
        Json::Number(_) => (Value::new(Scalar::Int, None)?, declared),
        Json::Object(map) => {
            let (name, is_pointer) = c_type_of(map.get("cType").unwrap_or(&Json::Null))?;
            if is_pointer {
                return Ok(CallbackAnswer::Null);
            }
            let Some(scalar) = Scalar::from_c_type(name) else { return Ok(CallbackAnswer::Nothing) };
            (Value::new(scalar, None)?, map.get("value").unwrap_or(&Json::Null))
        }
        other => return Err(format!("`returns` of `x-callback` must be an integer or an object, not {other}")),
    };
    if value.scalar.is_float() {
        return Err("a callback gives back an integer, a null pointer or nothing".to_owned());
    }
    let constant = match constant {
        Json::Bool(flag) => Json::from(u8::from(*flag)),
        other => other.clone(),
    };
    let word = integer_word(value, &constant).ok_or_else(|| {
        format!("`returns` of `x-callback` must be an integer that fits `{}`, not {constant}", value.scalar.name())
    })?;
    Ok(CallbackAnswer::Scalar(value, word))
}
