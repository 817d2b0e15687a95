//! What a tool returns: [`ToolOutput`].

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::json::ParsedJson;
use super::part::{Part, PartForm};
use super::rich::{RichForm, RichOutput};

/// The result of a call, still in the form in which it will leave.
///
/// Whether a result is text or JSON is decided by the type the tool returns, never by looking at its content.
///
/// It can be written and read with serde. Where it is read from JSON text, [`parse`](Self::parse) keeps every digit of the
/// JSON inside; what serde reads within other types has numbers of at most 64 bits.
///
/// ```
/// use opentool_core::ToolOutput;
///
/// assert_eq!(ToolOutput::text("12 degrees").to_text(), "12 degrees");
/// assert_eq!(ToolOutput::json(&"quoted")?.to_text(), r#""quoted""#);
/// assert_eq!(ToolOutput::Empty.to_text(), "");
/// # Ok::<(), opentool_core::ToolError>(())
/// ```
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolOutput {
    /// No value; each frontend words it (`Done` in a chat, `{}` on the wire).
    #[default]
    Empty,
    /// Text for the model, as it is.
    Text(String),
    /// A JSON value, as text.
    Json(Box<RawValue>),
    /// Several pieces, some of which may be no text at all.
    Parts(Vec<Part>),
    /// A structured value, pieces and a protocol's metadata together.
    Rich(Box<RichOutput>),
}

impl ToolOutput {
    /// Makes an output of text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Makes an output of JSON text.
    ///
    /// # Errors
    ///
    /// Where the text is not one JSON value.
    pub fn from_json_text(json: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(json.into()).map(Self::Json)
    }

    /// Reads an output that serde has written as JSON, keeping every digit of the JSON inside.
    ///
    /// ```
    /// use opentool_core::ToolOutput;
    ///
    /// let output = ToolOutput::parse(r#"{"json":{"n":123456789012345678901234567890}}"#)?;
    /// assert_eq!(output.to_text(), r#"{"n":123456789012345678901234567890}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where the text is not the JSON form of an output.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<OutputForm<Box<RawValue>>>(text)?.into_output().map_err(serde_json::Error::custom)
    }

    /// Says whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Returns the JSON value, where there is one.
    #[must_use]
    pub fn structured(&self) -> Option<&RawValue> {
        match self {
            Self::Json(json) => Some(json),
            Self::Rich(rich) => rich.structured.as_deref(),
            Self::Empty | Self::Text(_) | Self::Parts(_) => None,
        }
    }

    /// Returns the parts, where there are any.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        match self {
            Self::Parts(parts) => parts,
            Self::Rich(rich) => &rich.parts,
            Self::Empty | Self::Text(_) | Self::Json(_) => &[],
        }
    }

    /// Returns how many bytes of content there are.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Text(text) => text.len(),
            Self::Json(json) => json.get().len(),
            Self::Parts(parts) => parts.iter().map(Part::size).sum(),
            Self::Rich(rich) => rich.size(),
        }
    }

    /// Returns the output as one text; media is named, not included.
    ///
    /// Of a rich output that is the text of its parts, and only where it has none, the structured value.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => text.clone(),
            Self::Json(json) => json.get().to_owned(),
            Self::Rich(rich) if rich.parts.is_empty() => {
                rich.structured.as_ref().map(|json| json.get().to_owned()).unwrap_or_default()
            }
            Self::Parts(_) | Self::Rich(_) => {
                let mut text = String::new();
                for part in self.parts() {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    part.write_text(&mut text);
                }
                text
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", bound = "J: Deserialize<'de>")]
enum OutputForm<J> {
    Empty,
    Text(String),
    Json(J),
    Parts(Vec<PartForm<J>>),
    Rich(RichForm<J>),
}

impl<J: Into<Box<RawValue>>> OutputForm<J> {
    fn into_output(self) -> Result<ToolOutput, &'static str> {
        Ok(match self {
            Self::Empty => ToolOutput::Empty,
            Self::Text(text) => ToolOutput::Text(text),
            Self::Json(json) => ToolOutput::Json(json.into()),
            Self::Parts(parts) => {
                ToolOutput::Parts(parts.into_iter().map(PartForm::into_part).collect::<Result<_, _>>()?)
            }
            Self::Rich(rich) => ToolOutput::Rich(Box::new(rich.into_output()?)),
        })
    }
}

impl<'de> Deserialize<'de> for ToolOutput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        OutputForm::<ParsedJson>::deserialize(deserializer)?.into_output().map_err(D::Error::custom)
    }
}

impl PartialEq for ToolOutput {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Empty, Self::Empty) => true,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Json(a), Self::Json(b)) => a.get() == b.get(),
            (Self::Parts(a), Self::Parts(b)) => a == b,
            (Self::Rich(a), Self::Rich(b)) => a == b,
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

impl From<Vec<Part>> for ToolOutput {
    fn from(parts: Vec<Part>) -> Self {
        Self::Parts(parts)
    }
}

impl From<RichOutput> for ToolOutput {
    fn from(rich: RichOutput) -> Self {
        Self::Rich(Box::new(rich))
    }
}
