//! The `x-…` keys, which say what the spec leaves open.

use opentool_spec::Map;
use serde_json::Value;

use crate::encoding::Encoding;

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

    fn get(self, key: &str) -> Option<&'a Value> {
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
