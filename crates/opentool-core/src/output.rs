//! What a tool answers: [`ToolOutput`], and [`ResultConverter`], which may change it.

use std::{fmt, io};

use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::ToolError;

/// The result of a call, still in the form in which it will leave.
///
/// Whether a result is text or JSON is decided by the type the tool returns, never by looking at its content.
///
/// ```
/// use opentool_core::ToolOutput;
///
/// assert_eq!(ToolOutput::text("12 degrees").to_text(), "12 degrees");
/// assert_eq!(ToolOutput::json(&"quoted")?.to_text(), r#""quoted""#);
/// assert_eq!(ToolOutput::Empty.to_text(), "");
/// # Ok::<(), opentool_core::ToolError>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolOutput {
    /// No value; each exit words it (`Done` in a chat, `{}` on the wire).
    #[default]
    Empty,
    /// Text for the model, as it is.
    Text(String),
    /// A JSON value, as text.
    Json(#[serde(deserialize_with = "read_json")] Box<RawValue>),
    /// Several pieces, some of which may be no text at all.
    Parts(Vec<Part>),
}

/// One piece of a [`ToolOutput::Parts`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// A piece of text.
    Text(String),
    /// A JSON value, as text.
    Json(#[serde(deserialize_with = "read_json")] Box<RawValue>),
    /// Bytes with their media type: an image, a sound, a file.
    Media {
        /// The media type, for instance `image/png`.
        media_type: String,
        /// The bytes in base64, which is how every exit sends them.
        data: String,
    },
    /// The address of something that the reader may fetch.
    Link {
        /// The address.
        uri: String,
        /// The media type of what is there, where it is known.
        media_type: Option<String>,
    },
}

impl ToolOutput {
    /// Makes an output of text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Makes an output of a value, serialised as JSON.
    ///
    /// # Errors
    ///
    /// Where the value cannot be serialised, for instance a map whose keys are no strings.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, ToolError> {
        write_json(value).map(Self::Json)
    }

    /// Makes an output of JSON that this workspace has written itself and need not read again; none where that cannot be.
    #[doc(hidden)]
    #[must_use]
    pub fn written(json: &str) -> Option<Self> {
        just_written(json).map(Self::Json)
    }

    /// Says whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Returns how many bytes of content there are.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Text(text) => text.len(),
            Self::Json(json) => json.get().len(),
            Self::Parts(parts) => parts.iter().map(Part::size).sum(),
        }
    }

    /// Returns the output as one text; media is named, not included.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => text.clone(),
            Self::Json(json) => json.get().to_owned(),
            Self::Parts(parts) => {
                let mut text = String::new();
                for part in parts {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    match part {
                        Part::Text(piece) => text.push_str(piece),
                        Part::Json(json) => text.push_str(json.get()),
                        Part::Media { media_type, data } => {
                            text.push_str(&format!("[{media_type}, {} bytes]", decoded_length(data)));
                        }
                        Part::Link { uri, .. } => text.push_str(uri),
                    }
                }
                text
            }
        }
    }
}

/// How many bytes a base64 text stands for, with padding or without.
fn decoded_length(base64: &str) -> usize {
    let digits = base64.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=').count();
    digits * 3 / 4
}

/// Writes a value as JSON in one pass, and in one allocation of the right size where it is small.
///
/// What `to_raw_value` allocates it has to shrink afterwards, which costs more than writing a number.
#[inline]
pub(crate) fn write_json<T: Serialize + ?Sized>(value: &T) -> Result<Box<RawValue>, ToolError> {
    let mut written = Written { small: [0; SMALL], length: 0, large: Vec::new() };
    serde_json::to_writer(&mut written, value).map_err(unwritten)?;
    let bytes = if written.large.is_empty() { &written.small[..written.length] } else { &written.large };
    match str::from_utf8(bytes).ok().and_then(just_written) {
        Some(raw) => Ok(raw),
        None => serde_json::from_slice(bytes).map_err(unwritten),
    }
}

#[cold]
fn unwritten(error: serde_json::Error) -> ToolError {
    ToolError::invalid_result(format!("the result cannot be written as JSON: {error}")).with_source(error)
}

/// Makes a raw value of JSON that serde_json has just written, without reading it once more as `RawValue::from_string`
/// does: in the form in which serde_json hands raw values through serde. None where that form has changed.
#[inline(never)]
fn just_written(json: &str) -> Option<Box<RawValue>> {
    let entry = (RAW_VALUE, json);
    let map = MapDeserializer::<_, serde::de::value::Error>::new(std::iter::once(entry));
    Box::<RawValue>::deserialize(map).ok()
}

/// Reads JSON as the text it is, or, where somebody has already parsed it (a tagged enum, a flattened field), writes it again.
fn read_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<RawValue>, D::Error> {
    struct Json;

    impl<'de> Visitor<'de> for Json {
        type Value = Box<RawValue>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("any JSON value")
        }

        /// What still is text.
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            Box::<RawValue>::deserialize(MapAccessDeserializer::new(map))
        }

        /// What was parsed.
        fn visit_newtype_struct<D: Deserializer<'de>>(self, parsed: D) -> Result<Self::Value, D::Error> {
            to_raw_value(&Value::deserialize(parsed)?).map_err(D::Error::custom)
        }
    }

    deserializer.deserialize_newtype_struct(RAW_VALUE, Json)
}

/// The name by which serde_json knows a raw value in passing.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// How many bytes of JSON are written without an allocation.
const SMALL: usize = 64;

/// What has been written: on the stack as long as it fits there, all of it on the heap from then on.
struct Written {
    small: [u8; SMALL],
    length: usize,
    large: Vec<u8>,
}

impl Written {
    #[cold]
    fn spill(&mut self, bytes: &[u8]) {
        self.large.reserve(4 * SMALL + bytes.len());
        self.large.extend_from_slice(&self.small[..self.length]);
        self.large.extend_from_slice(bytes);
    }
}

impl io::Write for Written {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.large.is_empty() {
            self.large.extend_from_slice(bytes);
        } else if let Some(free) = self.small[self.length..].get_mut(..bytes.len()) {
            free.copy_from_slice(bytes);
            self.length += bytes.len();
        } else {
            self.spill(bytes);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Part {
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Json(json) => json.get().len(),
            Self::Media { data, .. } => data.len(),
            Self::Link { uri, .. } => uri.len(),
        }
    }
}

impl PartialEq for ToolOutput {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Empty, Self::Empty) => true,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Json(a), Self::Json(b)) => a.get() == b.get(),
            (Self::Parts(a), Self::Parts(b)) => a == b,
            _ => false,
        }
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Json(a), Self::Json(b)) => a.get() == b.get(),
            (Self::Media { media_type: a, data: x }, Self::Media { media_type: b, data: y }) => a == b && x == y,
            (Self::Link { uri: a, media_type: x }, Self::Link { uri: b, media_type: y }) => a == b && x == y,
            _ => false,
        }
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<()> for ToolOutput {
    fn from((): ()) -> Self {
        Self::Empty
    }
}

/// Changes what a tool answered before anybody sees it.
///
/// One may be set for a tool ([`ToolMetadata::with_converter`](crate::ToolMetadata::with_converter))
/// or for every tool that has none of its own, on the executor. A closure is a converter.
pub trait ResultConverter: Send + Sync + 'static {
    /// Converts the output of a call that succeeded.
    ///
    /// # Errors
    ///
    /// Where the output cannot be converted; the error becomes the outcome of the call.
    fn convert(&self, output: ToolOutput) -> Result<ToolOutput, ToolError>;
}

impl<F> ResultConverter for F
where
    F: Fn(ToolOutput) -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
{
    fn convert(&self, output: ToolOutput) -> Result<ToolOutput, ToolError> {
        self(output)
    }
}
