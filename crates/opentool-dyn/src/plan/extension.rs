//! The `x-…` keys, which say what the spec leaves open.

use opentool_spec::Map;
use serde_json::Value;

use super::names::Names;
use super::scalar::Value as ScalarValue;
use crate::encoding::{Encoding, push_json_string};

/// The most bytes that an out buffer may have.
pub(crate) const LARGEST_BUFFER: usize = 16 << 20;

/// What a caller should know about the effects of a function (`x-effect`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing is known.
    #[default]
    Unknown,
    /// It changes nothing.
    Read,
    /// It changes something.
    Write,
    /// It may destroy something.
    Destructive,
}

/// Which values of an integer that is returned say success (`x-returnsCode`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Success {
    /// Only zero.
    Zero,
    /// Those that are listed.
    OneOf(Box<[i128]>),
}

impl Success {
    pub(crate) fn includes(&self, code: i128) -> bool {
        match self {
            Success::Zero => code == 0,
            Success::OneOf(codes) => codes.contains(&code),
        }
    }
}

/// The unknown keys of an object and, behind them, those of its schema.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extensions<'a> {
    own: &'a Map,
    schema: Option<&'a Map>,
}

impl<'a> Extensions<'a> {
    pub(crate) fn new(own: &'a Map) -> Self {
        Extensions { own, schema: None }
    }

    pub(crate) fn with_schema(own: &'a Map, schema: &'a Map) -> Self {
        Extensions { own, schema: Some(schema) }
    }

    pub(crate) fn get(self, key: &str) -> Option<&'a Value> {
        let value = self.own.get(key).or_else(|| self.schema?.get(key));
        value.filter(|value| !value.is_null())
    }

    pub(crate) fn flag(self, key: &str) -> Result<bool, String> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(format!("`{key}` must be true or false, not {other}")),
        }
    }

    pub(crate) fn name(self, key: &str) -> Result<Option<&'a str>, String> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(name)) if !name.is_empty() && !name.contains('\0') => Ok(Some(name)),
            Some(other) => Err(format!("`{key}` must be a name, not {other}")),
        }
    }

    pub(crate) fn count(self, key: &str) -> Result<Option<usize>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.as_u64().and_then(|count| usize::try_from(count).ok()) {
            Some(count) if (1..=LARGEST_BUFFER).contains(&count) => Ok(Some(count)),
            _ => Err(format!("`{key}` must be an integer from 1 to {LARGEST_BUFFER}, not {value}")),
        }
    }

    /// A place in a struct, from 0.
    pub(crate) fn offset(self, key: &str) -> Result<Option<usize>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.as_u64().and_then(|offset| usize::try_from(offset).ok()) {
            Some(offset) if offset <= LARGEST_BUFFER => Ok(Some(offset)),
            _ => Err(format!("`{key}` must be an integer from 0 to {LARGEST_BUFFER}, not {value}")),
        }
    }

    /// `x-values`, with `x-flags`: the names of an integer's values.
    pub(crate) fn names(self, value: Option<ScalarValue>) -> Result<Option<Names>, String> {
        let flags = self.flag("x-flags")?;
        let Some(values) = self.get("x-values") else {
            return if flags { Err("`x-flags` needs `x-values`".to_owned()) } else { Ok(None) };
        };
        let wrong = || format!("`x-values` must be integers by name, not {values}");
        let values = values.as_object().ok_or_else(wrong)?;
        let value = value.filter(|value| value.scalar.is_integer());
        let value = value.ok_or_else(|| "`x-values` needs an integer".to_owned())?;
        let mut entries = Vec::with_capacity(values.len());
        for (name, constant) in values {
            let bits = integer_bits(value, constant).ok_or_else(|| {
                format!("`x-values`: `{name}` must be an integer that fits `{}`, not {constant}", value.scalar.name())
            })?;
            entries.push((name.as_str().into(), bits));
        }
        Ok(Some(Names::new(entries, flags)))
    }

    /// `x-fixedArgs`: how many of the parameters come before the dots of a variadic function.
    pub(crate) fn fixed_arguments(self, parameters: usize) -> Result<Option<usize>, String> {
        let Some(value) = self.get("x-fixedArgs") else { return Ok(None) };
        match value.as_u64().and_then(|count| usize::try_from(count).ok()) {
            Some(count) if (1..=parameters).contains(&count) => Ok(Some(count)),
            _ => Err(format!("`x-fixedArgs` must be an integer from 1 to the {parameters} parameters, not {value}")),
        }
    }

    pub(crate) fn encoding(self) -> Result<Option<Encoding>, String> {
        let Some(value) = self.get("x-encoding") else { return Ok(None) };
        match value.as_str().and_then(Encoding::from_name) {
            Some(encoding) => Ok(Some(encoding)),
            None => Err(format!("`x-encoding` must be utf8, latin1, base64 or hex, not {value}")),
        }
    }

    pub(crate) fn effect(self) -> Result<Effect, String> {
        let Some(value) = self.get("x-effect") else { return Ok(Effect::Unknown) };
        match value.as_str() {
            Some("read") => Ok(Effect::Read),
            Some("write") => Ok(Effect::Write),
            Some("destructive") => Ok(Effect::Destructive),
            _ => Err(format!("`x-effect` must be read, write or destructive, not {value}")),
        }
    }

    pub(crate) fn success(self) -> Result<Option<Success>, String> {
        let Some(value) = self.get("x-returnsCode") else { return Ok(None) };
        let wrong = || format!("`x-returnsCode` must be true, false or a list of integers, not {value}");
        match value {
            Value::Bool(true) => Ok(Some(Success::Zero)),
            Value::Bool(false) => Ok(None),
            Value::Array(codes) if !codes.is_empty() => {
                let code = |code: &Value| code.as_i64().map(i128::from).or(code.as_u64().map(i128::from));
                codes.iter().map(code).collect::<Option<_>>().map(|codes| Some(Success::OneOf(codes))).ok_or_else(wrong)
            }
            _ => Err(wrong()),
        }
    }
}

/// An integer of a document as two's complement, where it is a value of the C type.
pub(crate) fn integer_bits(value: ScalarValue, constant: &Value) -> Option<u64> {
    let (least, most) = value.machine.bounds();
    match (constant.as_u64(), constant.as_i64()) {
        (Some(integer), _) if integer <= most => Some(integer),
        (None, Some(integer)) if integer >= least => Some(integer.cast_unsigned()),
        _ => None,
    }
}

/// The same as a word that begins with it.
pub(crate) fn integer_word(value: ScalarValue, constant: &Value) -> Option<u64> {
    integer_bits(value, constant).map(|bits| value.machine.word_of_integer(bits))
}

/// A name as the key of a JSON object: quoted, and with its colon.
pub(crate) fn key_of(name: &str) -> Box<[u8]> {
    let mut key = Vec::with_capacity(name.len() + 3);
    push_json_string(name, &mut key);
    key.push(b':');
    key.into()
}
