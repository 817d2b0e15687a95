//! The result of a call as the server words it, and as the core knows it.

use opentool_core::{Annotations, Link, Part, PartContent, Resource, RichOutput, ToolError, ToolOutput};
use rmcp::model::{
    Annotations as GivenAnnotations, CallToolResult, ContentBlock, MetaObject, Resource as GivenLink, ResourceContents,
};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// The key of the server's name and version in the metadata of a result.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Makes the outcome of a call.
pub(crate) fn outcome(result: CallToolResult) -> Result<ToolOutput, ToolError> {
    let is_error = result.is_error.unwrap_or_default();
    let output = output(result);
    if !is_error {
        return Ok(output);
    }
    let text = output.to_text();
    let message = if text.trim().is_empty() { "the tool failed and did not say why".to_owned() } else { text };
    Err(ToolError::failed(message).with_output(output))
}

fn output(result: CallToolResult) -> ToolOutput {
    let CallToolResult { content, structured_content, meta, .. } = result;
    let meta = meta.and_then(of_the_tool).as_ref().and_then(raw);
    let parts: Vec<Part> = content.into_iter().filter_map(part).collect();
    if structured_content.is_none() && meta.is_none() {
        return match <[Part; 1]>::try_from(parts) {
            Ok([part]) => match plain_text(&part) {
                Some(text) => ToolOutput::text(text),
                None => ToolOutput::Parts(vec![part]),
            },
            Err(parts) => ToolOutput::Parts(parts),
        };
    }
    if let (Some(value), None, [part]) = (&structured_content, &meta, &*parts)
        && let Some(json) = plain_text(part).and_then(|text| same_value(text, value))
    {
        return ToolOutput::Json(json);
    }
    let mut rich = parts.into_iter().fold(RichOutput::new(), RichOutput::with_part);
    if let Some(value) = structured_content.as_ref().and_then(raw) {
        rich = rich.with_structured(value);
    }
    if let Some(meta) = meta {
        rich = rich.with_meta(meta);
    }
    rich.into()
}

/// The metadata without the name of the server, which belongs to the connection and stands in every result.
fn of_the_tool(mut meta: MetaObject) -> Option<MetaObject> {
    meta.0.shift_remove(SERVER_INFO);
    Some(meta).filter(|meta| !meta.0.is_empty())
}

/// The text of a part that is nothing else.
fn plain_text(part: &Part) -> Option<&str> {
    match &part.content {
        PartContent::Text(text) if part.annotations().is_none() && part.meta().is_none() => Some(text),
        _ => None,
    }
}

/// The text of an object that stands beside it for older clients. It still has what was lost when the object was read.
fn same_value(text: &str, value: &Value) -> Option<Box<RawValue>> {
    let is_alone = value.is_object() && text.starts_with('{') && text.ends_with('}');
    let is_same = is_alone && serde_json::from_str::<Value>(text).is_ok_and(|parsed| parsed == *value);
    is_same.then(|| RawValue::from_string(text.to_owned()).ok()).flatten()
}

fn part(block: ContentBlock) -> Option<Part> {
    let (part, annotations, meta) = match block {
        ContentBlock::Text(text) => (Part::text(text.text), text.annotations, text.meta),
        ContentBlock::Image(image) => (Part::media(image.mime_type, image.data), image.annotations, image.meta),
        ContentBlock::Audio(audio) => (Part::media(audio.mime_type, audio.data), audio.annotations, audio.meta),
        ContentBlock::Resource(embedded) => (resource(embedded.resource)?.into(), embedded.annotations, embedded.meta),
        ContentBlock::ResourceLink(given) => {
            let (annotations, meta) = (given.annotations.clone(), given.meta.clone());
            (link(given).into(), annotations, meta)
        }
        // The protocol has no others.
        _ => return None,
    };
    let part = annotations.as_ref().and_then(annotations_of).into_iter().fold(part, Part::with_annotations);
    Some(meta.as_ref().and_then(raw::<MetaObject>).into_iter().fold(part, Part::with_meta))
}

fn link(given: GivenLink) -> Link {
    let mut link = Link::new(given.uri).with_name(given.name);
    link.title = given.title;
    link.description = given.description;
    link.media_type = given.mime_type;
    link.size = given.size;
    link.icons = given.icons.and_then(|icons| serde_json::to_value(icons).ok());
    link
}

fn resource(given: ResourceContents) -> Option<Resource> {
    let (resource, media_type, meta) = match given {
        ResourceContents::TextResourceContents { uri, mime_type, text, meta } => {
            (Resource::text(uri, text), mime_type, meta)
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, meta } => {
            (Resource::blob(uri, blob), mime_type, meta)
        }
        _ => return None,
    };
    let resource = media_type.into_iter().fold(resource, Resource::with_media_type);
    Some(meta.as_ref().and_then(raw).into_iter().fold(resource, Resource::with_meta))
}

/// By way of text, because rmcp keeps the priority in 32 bits: as text 0.8 stays 0.8.
fn annotations_of(given: &GivenAnnotations) -> Option<Annotations> {
    let Ok(Value::Object(members)) = serde_json::from_str(&serde_json::to_string(given).ok()?) else { return None };
    Some(members.into_iter().fold(Annotations::new(), |annotations, (key, value)| annotations.with(key, value)))
}

fn raw<T: Serialize>(value: &T) -> Option<Box<RawValue>> {
    to_raw_value(value).ok()
}
