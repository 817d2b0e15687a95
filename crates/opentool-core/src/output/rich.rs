//! Parts with a structured value beside them: [`RichOutput`].

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::json::{ParsedJson, is_object, present, same};
use super::part::{Part, PartForm};

/// A structured value, parts and a protocol's metadata together, as an MCP server answers.
///
/// ```
/// use opentool_core::{Part, RichOutput, ToolOutput};
/// use serde_json::value::to_raw_value;
///
/// let output = ToolOutput::from(
///     RichOutput::new().with_structured(to_raw_value(&[12, 14])?).with_part(Part::text("12 to 14 degrees")),
/// );
/// assert_eq!(output.structured().map(|json| json.get()), Some("[12,14]"));
/// assert_eq!(output.to_text(), "12 to 14 degrees");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct RichOutput {
    /// The value, as JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Box<RawValue>>,
    /// The pieces in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Box<RawValue>>,
}

impl RichOutput {
    /// Makes an output that holds nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the value.
    #[must_use]
    pub fn with_structured(mut self, json: Box<RawValue>) -> Self {
        self.structured = Some(json);
        self
    }

    /// Adds a piece.
    #[must_use]
    pub fn with_part(mut self, part: impl Into<Part>) -> Self {
        self.parts.push(part.into());
        self
    }

    /// Sets the protocol's metadata, a JSON object; anything else is ignored.
    #[must_use]
    pub fn with_meta(mut self, meta: Box<RawValue>) -> Self {
        self.meta = Some(meta).filter(|meta| is_object(meta)).or(self.meta);
        self
    }

    /// Returns the protocol's metadata, a JSON object.
    #[must_use]
    pub fn meta(&self) -> Option<&RawValue> {
        self.meta.as_deref()
    }

    /// Returns how many bytes of content there are.
    pub(super) fn size(&self) -> usize {
        let texts = self.structured.iter().chain(&self.meta).map(|json| json.get().len());
        texts.chain(self.parts.iter().map(Part::size)).sum()
    }
}

impl PartialEq for RichOutput {
    fn eq(&self, other: &Self) -> bool {
        same(self.structured.as_deref(), other.structured.as_deref())
            && self.parts == other.parts
            && same(self.meta(), other.meta())
    }
}

#[derive(Deserialize)]
#[serde(bound = "J: Deserialize<'de>")]
pub(super) struct RichForm<J> {
    #[serde(default = "Option::default", deserialize_with = "present")]
    structured: Option<J>,
    #[serde(default = "Vec::new")]
    parts: Vec<PartForm<J>>,
    #[serde(rename = "_meta")]
    meta: Option<J>,
}

impl<J: Into<Box<RawValue>>> RichForm<J> {
    pub(super) fn into_output(self) -> Result<RichOutput, &'static str> {
        Ok(RichOutput {
            structured: self.structured.map(Into::into),
            parts: self.parts.into_iter().map(PartForm::into_part).collect::<Result<_, _>>()?,
            meta: self.meta.map(Into::into),
        })
    }
}

impl<'de> Deserialize<'de> for RichOutput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RichForm::<ParsedJson>::deserialize(deserializer)?.into_output().map_err(D::Error::custom)
    }
}
