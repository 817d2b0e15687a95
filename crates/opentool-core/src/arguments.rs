//! What a tool is called with: [`Arguments`], a JSON text that is parsed only on request.

use std::fmt;
use std::sync::Arc;

use once_cell::race::OnceBox;
use opentool_spec::json::pointer;
use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_path_to_error::Segment;

use crate::ToolError;

/// The arguments of one call, as the JSON text in which they came.
///
/// They stay text because a parsed [`Value`] has already merged duplicate keys and rounded large
/// integers, and costs more than the call. An empty, blank or `null` text, and an empty JSON string, read as `{}`. A clone
/// shares the text, unless it is short.
///
/// ```
/// use opentool_core::Arguments;
///
/// #[derive(serde::Deserialize)]
/// struct Add { a: i64, b: i64 }
///
/// let arguments = Arguments::from(r#"{"a": 1, "b": 2}"#);
/// let Add { a, b } = arguments.parse()?;
/// assert_eq!(a + b, 3);
/// assert_eq!(arguments.value()?["b"], 2);
/// assert_eq!(Arguments::from(" ").as_str(), "{}");
/// # Ok::<(), opentool_core::ToolError>(())
/// ```
#[derive(Clone)]
pub struct Arguments {
    text: ArgumentText,
    // One word, which a move copies as it was written; a lock of several pieces makes the processor wait
    // (`cargo bench -p opentool-core --bench calls`).
    value: OnceBox<Arc<Value>>,
}

#[derive(Clone)]
enum ArgumentText {
    Static(&'static str),
    /// Copied by a clone, which takes no longer than to count it, while counting would burden every call
    /// (`cargo bench -p opentool-core --bench calls`).
    Short(Box<str>),
    Shared(Arc<str>),
}

/// How many bytes a short text has at most.
const SHORT: usize = 128;

const NONE: &str = "{}";

impl Arguments {
    /// Arguments of a call that gives none: `{}`.
    #[must_use]
    pub const fn none() -> Self {
        Self { text: ArgumentText::Static(NONE), value: OnceBox::new() }
    }

    /// Serialises a value as arguments.
    ///
    /// # Errors
    ///
    /// Where the value cannot be serialised as JSON.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, ToolError> {
        serde_json::to_string(value).map(Self::from).map_err(|error| ToolError::invalid_arguments("", error))
    }

    /// Returns the JSON text.
    #[must_use]
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.text {
            ArgumentText::Static(text) => text,
            ArgumentText::Short(text) => text,
            ArgumentText::Shared(text) => text,
        }
    }

    /// Says whether the text is so long that it is checked off the async threads, within the [`MemoryBudget`](crate::MemoryBudget)
    /// of the context where that has one.
    #[must_use]
    pub fn is_long(&self) -> bool {
        /// Checking this many bytes takes a fraction of a millisecond.
        const LONG: usize = 64 * 1024;
        self.as_str().len() > LONG
    }

    /// Returns the arguments as a value, parsed on the first call and kept.
    ///
    /// # Errors
    ///
    /// Where the text is no JSON.
    pub fn value(&self) -> Result<&Value, ToolError> {
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = self.parse::<Value>()?;
        Ok(self.value.get_or_init(|| Box::new(Arc::new(value))))
    }

    /// Deserialises the arguments; strings may be borrowed from the text.
    ///
    /// # Errors
    ///
    /// Where the text does not fit the type: an error of kind
    /// [`InvalidArguments`](crate::ErrorKind::InvalidArguments) that names the place by JSON pointer.
    #[inline]
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, ToolError> {
        let text = self.as_str();
        serde_json::from_str(text).map_err(|error| explain::<T>(text, &error))
    }

    /// Deserialises one top-level argument; `None` where it is absent or null.
    ///
    /// # Errors
    ///
    /// Where the text is no JSON or the argument does not fit the type.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ToolError> {
        match self.value()?.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => serde_path_to_error::deserialize(value).map(Some).map_err(|error| {
                let mut at = String::new();
                pointer::push(&mut at, name);
                push_path(&mut at, error.path());
                ToolError::invalid_arguments(at, error.inner())
            }),
        }
    }

    #[inline]
    fn from_text(text: &str, keep: impl FnOnce() -> ArgumentText) -> Self {
        if is_none(text) { Self::none() } else { Self { text: keep(), value: OnceBox::new() } }
    }
}

/// Reads the text a second time, now keeping track of where the failure is.
#[cold]
fn explain<'a, T: Deserialize<'a>>(text: &'a str, first: &serde_json::Error) -> ToolError {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let mut pointer = String::new();
    if let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        push_path(&mut pointer, error.path());
    }
    ToolError::invalid_arguments(pointer, without_place(first))
}

/// What serde says about a value of the wrong kind, without line and column: the JSON pointer says where it is. serde_json has no
/// message without them; were its words to change, they would only stay in it.
pub(crate) fn without_place(error: &serde_json::Error) -> String {
    let mut message = error.to_string();
    if error.classify() == Category::Data {
        let place = format!(" at line {} column {}", error.line(), error.column());
        message.truncate(message.strip_suffix(&place).unwrap_or(&message).len());
    }
    message
}

/// The JSON pointer of a place that serde found.
pub(crate) fn pointer_of(path: &serde_path_to_error::Path) -> String {
    let mut pointer = String::new();
    push_path(&mut pointer, path);
    pointer
}

fn push_path(pointer: &mut String, path: &serde_path_to_error::Path) {
    for segment in path {
        match segment {
            Segment::Seq { index } => {
                pointer.push('/');
                pointer.push_str(&index.to_string());
            }
            Segment::Map { key } => pointer::push(pointer, key),
            // A variant of an externally tagged enum is a key of the JSON text; a failure inside an
            // untagged one has no place of its own.
            Segment::Enum { variant } => pointer::push(pointer, variant),
            Segment::Unknown => {}
        }
    }
}

#[inline]
fn is_none(text: &str) -> bool {
    // Nearly all arguments are an object, and nothing else begins like one.
    if text.len() > NONE.len() && text.starts_with('{') {
        return false;
    }
    // A model that has nothing to say may write an empty JSON string.
    matches!(text.trim(), "" | "null" | "\"\"" | NONE)
}

impl Default for Arguments {
    fn default() -> Self {
        Self::none()
    }
}

impl From<&str> for Arguments {
    #[inline]
    fn from(text: &str) -> Self {
        Self::from_text(text, || {
            if text.len() <= SHORT { ArgumentText::Short(text.into()) } else { ArgumentText::Shared(text.into()) }
        })
    }
}

impl From<String> for Arguments {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Arc<str>> for Arguments {
    fn from(text: Arc<str>) -> Self {
        Self::from_text(&text, || ArgumentText::Shared(text.clone()))
    }
}

impl From<&RawValue> for Arguments {
    fn from(raw: &RawValue) -> Self {
        Self::from(raw.get())
    }
}

impl From<Value> for Arguments {
    fn from(value: Value) -> Self {
        let arguments = Self::from(value.to_string());
        if !value.is_null() {
            // Kept, so that a tool that asks for the value does not parse the text again.
            let _ = arguments.value.set(Box::new(Arc::new(value)));
        }
        arguments
    }
}

impl From<serde_json::Map<String, Value>> for Arguments {
    fn from(map: serde_json::Map<String, Value>) -> Self {
        Self::from(Value::Object(map))
    }
}

impl PartialEq for Arguments {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Arguments {}

impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // They may hold secrets: a log shows that they are there, not what they are.
        write!(f, "Arguments({} bytes)", self.as_str().len())
    }
}

/// Arguments are written as the string a provider sends, since a model's text need not be JSON.
impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Arguments;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string that holds the arguments")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Arguments, E> {
                Ok(Arguments::from(text))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}
