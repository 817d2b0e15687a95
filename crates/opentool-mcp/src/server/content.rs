//! The result of a call as MCP words it: [`CallResult`].

use std::borrow::Cow;

use indexmap::IndexMap;
use opentool_core::{Link, Part, PartContent, Resource, ResourceContent, ToolError, ToolOutput};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::revision::Revision;

/// The key of the server's name and version in the metadata of a result.
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// What a result is called where its function does not name it.
pub(crate) const RESULT: &str = "result";

/// What a model reads of a call without a value.
const NO_VALUE: &str = "Done";

/// What a client gets of a call that ran, or failed to.
pub(crate) struct CallResult<'a> {
    /// Whether the revision says of a result that it is complete.
    is_marked_complete: bool,
    content: Content<'a>,
    structured_content: Option<Structured<'a>>,
    is_error: bool,
    meta: Option<ResultMeta<'a>>,
}

/// What a result depends on besides the outcome of its call.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) revision: Revision,
    /// The server's name and version.
    pub(crate) server: &'a RawValue,
}

/// What is known about the results of a tool.
#[derive(Clone, Copy, Default)]
pub(crate) struct OutputInfo<'a> {
    pub(crate) name: Option<&'a str>,
    /// Whether the schema of the results is published, so that each of them needs structured content.
    pub(crate) is_published: bool,
    /// Whether that schema is of an object.
    pub(crate) is_object: bool,
}

impl<'a> CallResult<'a> {
    /// Words the result of a tool.
    pub(crate) fn success(output: &'a ToolOutput, about: OutputInfo<'a>, reader: Reader<'a>) -> Self {
        let Reader { revision, .. } = reader;
        let structured = revision.has_structured_content().then(|| Structured::new(output, about, revision)).flatten();
        Self {
            is_marked_complete: revision.is_stateless(),
            content: Content { items: Items::new(output), revision },
            structured_content: structured,
            is_error: false,
            meta: ResultMeta::new(output, reader),
        }
    }

    /// Words the failure of a call, which the model sees.
    pub(crate) fn failure(error: &'a ToolError, reader: Reader<'a>) -> Self {
        let Reader { revision, .. } = reader;
        let output = error.output();
        let items = match output {
            Some(output) if !output.is_empty() => Items::new(output),
            _ => Items::Text(error.message()),
        };
        let structured = output.and_then(|output| Structured::new(output, OutputInfo::default(), revision));
        Self {
            is_marked_complete: revision.is_stateless(),
            content: Content { items, revision },
            structured_content: structured.filter(|_| revision.has_structured_content()),
            is_error: true,
            meta: ResultMeta::new(output.unwrap_or(&ToolOutput::Empty), reader),
        }
    }

    /// Writes the names, which are always the same, as bytes: serde would escape each of them every time (`scripts/bench mcp`).
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        out.push(b'{');
        if self.is_marked_complete {
            out.extend_from_slice(br#""resultType":"complete","#);
        }
        out.extend_from_slice(br#""content":"#);
        self.content.write(out)?;
        if let Some(structured) = &self.structured_content {
            out.extend_from_slice(br#","structuredContent":"#);
            serde_json::to_writer(&mut *out, structured)?;
        }
        if self.is_error {
            out.extend_from_slice(br#","isError":true"#);
        }
        if let Some(meta) = &self.meta {
            out.extend_from_slice(br#","_meta":"#);
            meta.write(out)?;
        }
        out.push(b'}');
        Ok(())
    }
}

/// The metadata of a result: what the output carries and, where the revision asks for it, who answers.
struct ResultMeta<'a> {
    output: Option<&'a RawValue>,
    server: Option<&'a RawValue>,
}

impl<'a> ResultMeta<'a> {
    fn new(output: &'a ToolOutput, reader: Reader<'a>) -> Option<Self> {
        let output = match output {
            ToolOutput::Rich(rich) => rich.meta(),
            _ => None,
        };
        // A server behind this one has said who it is.
        let is_named = output.is_some_and(|meta| meta.get().contains(SERVER_INFO));
        let server = (reader.revision.is_stateless() && !is_named).then_some(reader.server);
        (output.is_some() || server.is_some()).then_some(Self { output, server })
    }
}

impl ResultMeta<'_> {
    fn write(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        match (self.output, self.server) {
            (Some(output), None) => serde_json::to_writer(out, output),
            (None, Some(server)) => serde_json::Serializer::new(out).collect_map([(SERVER_INFO, server)]),
            (output, server) => {
                let mut members: IndexMap<Cow<'_, str>, &RawValue> =
                    output.and_then(|output| serde_json::from_str(output.get()).ok()).unwrap_or_default();
                members.extend(server.map(|server| (Cow::Borrowed(SERVER_INFO), server)));
                serde_json::to_writer(out, &members)
            }
        }
    }
}

/// A value for programs.
enum Structured<'a> {
    Json(&'a RawValue),
    Text(&'a str),
    Null,
    /// A value that is no object, for a revision that knows objects only.
    Wrapped(&'a str, Box<Structured<'a>>),
}

impl<'a> Structured<'a> {
    /// Takes the value of an output; none where there is nothing for programs.
    fn new(output: &'a ToolOutput, about: OutputInfo<'a>, revision: Revision) -> Option<Self> {
        let value = match output {
            ToolOutput::Rich(rich) => match &rich.structured {
                Some(json) => Self::Json(json),
                None if about.is_published => Self::Null,
                None => return None,
            },
            ToolOutput::Json(json) if about.is_published || is_object(json) => Self::Json(json),
            ToolOutput::Text(text) if about.is_published => Self::Text(text),
            ToolOutput::Empty if about.is_published => Self::Null,
            _ => return None,
        };
        // A published schema that is not of an object was wrapped, also for a value that happens to be an object.
        let fits = match &value {
            Self::Json(json) => is_object(json) && (about.is_object || !about.is_published),
            _ => false,
        };
        if fits || revision.has_structured_values() {
            return Some(value);
        }
        Some(Self::Wrapped(about.name.unwrap_or(RESULT), Box::new(value)))
    }
}

fn is_object(json: &RawValue) -> bool {
    json.get().starts_with('{')
}

impl Serialize for Structured<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Json(json) => json.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Null => serializer.serialize_unit(),
            Self::Wrapped(name, value) => serializer.collect_map([(name, value)]),
        }
    }
}

/// What a model reads or sees.
struct Content<'a> {
    items: Items<'a>,
    revision: Revision,
}

enum Items<'a> {
    Text(&'a str),
    Parts(&'a [Part]),
}

impl<'a> Items<'a> {
    fn new(output: &'a ToolOutput) -> Self {
        match output {
            ToolOutput::Text(text) => Self::Text(text),
            ToolOutput::Json(json) => Self::Text(json.get()),
            ToolOutput::Parts(parts) => Self::Parts(parts),
            ToolOutput::Rich(rich) => match &rich.structured {
                Some(json) if rich.parts.is_empty() => Self::Text(json.get()),
                _ => Self::Parts(&rich.parts),
            },
            _ => Self::Text(NO_VALUE),
        }
    }
}

impl Content<'_> {
    fn write(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        match self.items {
            Items::Text(text) => {
                out.extend_from_slice(br#"[{"type":"text","text":"#);
                serde_json::to_writer(&mut *out, text)?;
                out.extend_from_slice(b"}]");
                Ok(())
            }
            Items::Parts(parts) => {
                let items = parts.iter().enumerate().map(|(index, part)| Item { part, index, revision: self.revision });
                serde_json::Serializer::new(out).collect_seq(items)
            }
        }
    }
}

/// A part as an item of content.
struct Item<'a> {
    part: &'a Part,
    index: usize,
    revision: Revision,
}

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.part.content {
            PartContent::Text(text) => write_text(&mut map, text)?,
            PartContent::Json(json) => write_text(&mut map, json.get())?,
            PartContent::Media { media_type, data } => self.write_media(&mut map, media_type, data)?,
            PartContent::Link(link) if self.revision.has_structured_content() => write_link(&mut map, link)?,
            PartContent::Resource(resource) => {
                map.serialize_entry("type", "resource")?;
                map.serialize_entry("resource", &ResourceForm::from(&**resource))?;
            }
            _ => write_text(&mut map, &self.as_text())?,
        }
        write_if(&mut map, "annotations", self.part.annotations().filter(|_| self.revision.has_annotations()))?;
        write_if(&mut map, "_meta", self.part.meta().filter(|_| self.revision.has_structured_content()))?;
        map.end()
    }
}

impl Item<'_> {
    fn write_media<M: SerializeMap>(&self, map: &mut M, media_type: &str, data: &str) -> Result<(), M::Error> {
        let kind = match media_type.split('/').next() {
            Some("image") => "image",
            Some("audio") if self.revision.has_annotations() => "audio",
            Some("audio") => return write_text(map, &self.as_text()),
            // Other bytes can only be embedded, and what is embedded needs an address.
            _ => {
                let uri = format!("urn:opentool:part:{}", self.index);
                let resource =
                    ResourceForm { uri: &uri, mime_type: Some(media_type), blob: Some(data), text: None, meta: None };
                map.serialize_entry("type", "resource")?;
                return map.serialize_entry("resource", &resource);
            }
        };
        map.serialize_entry("type", kind)?;
        map.serialize_entry("data", data)?;
        map.serialize_entry("mimeType", media_type)
    }

    /// The part in words, for a revision that has no other form for it.
    fn as_text(&self) -> String {
        ToolOutput::Parts(vec![self.part.clone()]).to_text()
    }
}

fn write_text<M: SerializeMap>(map: &mut M, text: &str) -> Result<(), M::Error> {
    map.serialize_entry("type", "text")?;
    map.serialize_entry("text", text)
}

fn write_link<M: SerializeMap>(map: &mut M, link: &Link) -> Result<(), M::Error> {
    map.serialize_entry("type", "resource_link")?;
    map.serialize_entry("uri", &link.uri)?;
    map.serialize_entry("name", link.name.as_deref().unwrap_or_else(|| last_segment(&link.uri)))?;
    write_if(map, "title", link.title.as_ref())?;
    write_if(map, "description", link.description.as_ref())?;
    write_if(map, "mimeType", link.media_type.as_ref())?;
    write_if(map, "size", link.size.as_ref())?;
    write_if(map, "icons", link.icons.as_ref())
}

/// The name of a link that has none, which MCP requires.
fn last_segment(uri: &str) -> &str {
    uri.trim_end_matches('/').rsplit('/').next().filter(|segment| !segment.is_empty()).unwrap_or(uri)
}

fn write_if<M: SerializeMap, T: Serialize + ?Sized>(map: &mut M, key: &str, value: Option<&T>) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(key, value))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceForm<'a> {
    uri: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<&'a str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a RawValue>,
}

impl<'a> From<&'a Resource> for ResourceForm<'a> {
    fn from(resource: &'a Resource) -> Self {
        let (text, blob) = match &resource.content {
            ResourceContent::Text(text) => (Some(text.as_str()), None),
            ResourceContent::Blob(data) => (None, Some(data.as_str())),
            // Nothing else can be embedded.
            _ => (Some(""), None),
        };
        Self { uri: &resource.uri, mime_type: resource.media_type.as_deref(), text, blob, meta: resource.meta() }
    }
}
