//! What a tool returned, part by part, as the page shows it: [`PartForm`].

use opentool_core::{Part, PartContent, ResourceContent, ToolOutput};
use serde::Serialize;
use serde_json::value::RawValue;

/// The arguments of a call as they are, or as a text where they are no JSON.
#[cfg(any(feature = "chat", feature = "journal"))]
pub(crate) fn raw_arguments(text: &str) -> Option<Box<RawValue>> {
    serde_json::from_str(text).or_else(|_| serde_json::value::to_raw_value(text)).ok()
}

/// A part of a result.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum PartForm<'a> {
    Text(TextForm<'a>),
    Json { value: &'a RawValue },
    Image(MediaForm<'a>),
    Audio(MediaForm<'a>),
    File(MediaForm<'a>),
    Link(LinkForm<'a>),
}

#[derive(Serialize)]
pub(crate) struct TextForm<'a> {
    text: &'a str,
    /// The address of the resource that the text is.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MediaForm<'a> {
    mime_type: &'a str,
    /// In base64.
    data: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LinkForm<'a> {
    uri: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
}

/// Lists the parts of an output; none where there is no value.
pub(crate) fn of_output(output: &ToolOutput) -> Vec<PartForm<'_>> {
    match output {
        ToolOutput::Text(text) => vec![PartForm::text(text)],
        ToolOutput::Json(json) => vec![PartForm::Json { value: json }],
        output => {
            let structured = output.structured().map(|value| PartForm::Json { value });
            structured.into_iter().chain(output.parts().iter().map(PartForm::of_part)).collect()
        }
    }
}

impl<'a> PartForm<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text(TextForm { text, name: None })
    }

    fn of_part(part: &'a Part) -> Self {
        match &part.content {
            PartContent::Text(text) => Self::text(text),
            PartContent::Json(value) => Self::Json { value },
            PartContent::Media { media_type, data } => Self::media(media_type, data, None),
            PartContent::Link(link) => Self::Link(LinkForm {
                uri: &link.uri,
                name: link.name.as_deref(),
                title: link.title.as_deref(),
                description: link.description.as_deref(),
                mime_type: link.media_type.as_deref(),
            }),
            PartContent::Resource(resource) => {
                let name = Some(resource.uri.as_str());
                match &resource.content {
                    ResourceContent::Text(text) => Self::Text(TextForm { text, name }),
                    ResourceContent::Blob(data) => {
                        Self::media(resource.media_type.as_deref().unwrap_or("application/octet-stream"), data, name)
                    }
                    // Nothing else can be embedded.
                    _ => Self::text(""),
                }
            }
            // A kind of part that this version does not know.
            _ => Self::text("(a part that this page cannot show)"),
        }
    }

    fn media(mime_type: &'a str, data: &'a str, name: Option<&'a str>) -> Self {
        let form = MediaForm { mime_type, data, name };
        match mime_type.split('/').next() {
            Some("image") => Self::Image(form),
            Some("audio") => Self::Audio(form),
            _ => Self::File(form),
        }
    }
}
