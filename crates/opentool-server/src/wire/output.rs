//! The `result` of an answer, made of what a tool returned: [`ResultObject`].

use opentool_core::{Part, ToolOutput};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

/// What a result is called where its function does not name it.
const DEFAULT_NAME: &str = "result";

/// A result, which is always an object: a value that is none is wrapped under its name, and no value is `{}`.
pub(crate) enum ResultObject<'a> {
    Empty,
    /// A JSON object, as its text.
    Object(&'a RawValue),
    Json(&'a str, &'a RawValue),
    Text(&'a str, &'a str),
    Parts(&'a str, &'a [Part]),
}

impl<'a> ResultObject<'a> {
    pub(crate) fn new(output: &'a ToolOutput, name: Option<&'a str>) -> Self {
        let name = name.unwrap_or(DEFAULT_NAME);
        match output {
            ToolOutput::Json(json) if json.get().starts_with('{') => Self::Object(json),
            ToolOutput::Json(json) if json.get() != "null" => Self::Json(name, json),
            ToolOutput::Text(text) => Self::Text(name, text),
            ToolOutput::Parts(parts) => Self::Parts(name, parts),
            _ => Self::Empty,
        }
    }
}

impl Serialize for ResultObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Empty => serializer.serialize_map(Some(0))?.end(),
            Self::Object(object) => object.serialize(serializer),
            Self::Json(name, value) => serializer.collect_map([(name, value)]),
            Self::Text(name, text) => serializer.collect_map([(name, text)]),
            Self::Parts(name, parts) => {
                serializer.collect_map([(name, parts.iter().map(WirePart::new).collect::<Vec<_>>())])
            }
        }
    }
}

/// A part with its type beside it.
#[derive(serde::Serialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum WirePart<'a> {
    Text { text: &'a str },
    Json { value: &'a RawValue },
    Media { media_type: &'a str, data: &'a str },
    Link { uri: &'a str, media_type: Option<&'a str> },
    Unknown,
}

impl<'a> WirePart<'a> {
    fn new(part: &'a Part) -> Self {
        match part {
            Part::Text(text) => Self::Text { text },
            Part::Json(value) => Self::Json { value },
            Part::Media { media_type, data } => Self::Media { media_type, data },
            Part::Link { uri, media_type } => Self::Link { uri, media_type: media_type.as_deref() },
            _ => Self::Unknown,
        }
    }
}
