//! One part of an output: [`Part`].

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::annotations::Annotations;
use super::json::{ParsedJson, is_object, present, same};

/// One piece of an output: its content, and what a protocol says about it.
///
/// Its JSON form, which is also the form on the wire, is an object whose `type` names the content:
/// `text`, `json`, `media`, `link` or `resource`.
///
/// ```
/// use opentool_core::{Link, Part};
/// use serde_json::json;
///
/// let part = Part::from(Link::new("file:///report.pdf").with_name("report.pdf").with_size(2048));
/// assert_eq!(
///     serde_json::to_value(&part)?,
///     json!({ "type": "link", "uri": "file:///report.pdf", "name": "report.pdf", "size": 2048 })
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Part {
    /// What the part holds.
    pub content: PartContent,
    /// Few parts have it, so it is boxed.
    notes: Option<Box<Notes>>,
}

#[derive(Clone, Debug, Default)]
struct Notes {
    annotations: Option<Annotations>,
    meta: Option<Box<RawValue>>,
}

/// What a [`Part`] holds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PartContent {
    /// A piece of text.
    Text(String),
    /// A JSON value, as text.
    Json(Box<RawValue>),
    /// Bytes with their media type: an image, a sound, a file.
    Media {
        /// The media type, for instance `image/png`.
        media_type: String,
        /// The bytes in base64, which is how every frontend sends them.
        data: String,
    },
    /// The address of something that the reader may fetch.
    Link(Box<Link>),
    /// Something that has an address, and is included.
    Resource(Box<Resource>),
}

/// The address of something that the reader may fetch, and what is known about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link {
    /// The address.
    pub uri: String,
    /// The name, for programs.
    pub name: Option<String>,
    /// The title, for people.
    pub title: Option<String>,
    /// What is there, for models.
    pub description: Option<String>,
    /// The media type of what is there.
    pub media_type: Option<String>,
    /// How many bytes are there.
    pub size: Option<u64>,
    /// Pictures of it, as the JSON array in which MCP lists them.
    pub icons: Option<Value>,
}

/// Something that has an address, and is included.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resource {
    /// The address.
    pub uri: String,
    /// The media type.
    pub media_type: Option<String>,
    /// What is at the address.
    pub content: ResourceContent,
    meta: Option<Box<RawValue>>,
}

/// What an included [`Resource`] holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourceContent {
    /// Text.
    Text(String),
    /// Bytes, in base64.
    Blob(String),
}

impl Part {
    /// Makes a part of text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        PartContent::Text(text.into()).into()
    }

    /// Makes a part of JSON.
    #[must_use]
    pub fn raw_json(json: Box<RawValue>) -> Self {
        PartContent::Json(json).into()
    }

    /// Makes a part of bytes, given in base64, with their media type.
    #[must_use]
    pub fn media(media_type: impl Into<String>, data: impl Into<String>) -> Self {
        PartContent::Media { media_type: media_type.into(), data: data.into() }.into()
    }

    /// Sets for whom the part is and how much it matters.
    #[must_use]
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.notes.get_or_insert_default().annotations = Some(annotations);
        self
    }

    /// Sets the protocol's metadata, a JSON object; anything else is ignored.
    #[must_use]
    pub fn with_meta(mut self, meta: Box<RawValue>) -> Self {
        if is_object(&meta) {
            self.notes.get_or_insert_default().meta = Some(meta);
        }
        self
    }

    /// Returns for whom the part is and how much it matters.
    #[must_use]
    pub fn annotations(&self) -> Option<&Annotations> {
        self.notes.as_ref()?.annotations.as_ref()
    }

    /// Returns the protocol's metadata, a JSON object.
    #[must_use]
    pub fn meta(&self) -> Option<&RawValue> {
        self.notes.as_ref()?.meta.as_deref()
    }

    /// Returns how many bytes of content there are.
    pub(super) fn size(&self) -> usize {
        let content = match &self.content {
            PartContent::Text(text) => text.len(),
            PartContent::Json(json) => json.get().len(),
            PartContent::Media { data, .. } => data.len(),
            PartContent::Link(link) => link.uri.len() + link.texts().map(str::len).sum::<usize>(),
            PartContent::Resource(resource) => resource.uri.len() + resource.content.as_str().len(),
        };
        content + self.meta().map_or(0, |meta| meta.get().len())
    }

    /// Appends the part as text; media is named, not included.
    pub(super) fn write_text(&self, text: &mut String) {
        match &self.content {
            PartContent::Text(piece) => text.push_str(piece),
            PartContent::Json(json) => text.push_str(json.get()),
            PartContent::Media { media_type, data } => write_bytes(text, media_type, data),
            PartContent::Link(link) => link.write_text(text),
            PartContent::Resource(resource) => match &resource.content {
                ResourceContent::Text(content) => text.push_str(content),
                ResourceContent::Blob(data) => {
                    text.push_str(&resource.uri);
                    text.push(' ');
                    write_bytes(text, resource.media_type.as_deref().unwrap_or("application/octet-stream"), data);
                }
            },
        }
    }
}

fn write_bytes(text: &mut String, media_type: &str, base64: &str) {
    text.push_str(&format!("[{media_type}, {} bytes]", decoded_length(base64)));
}

/// How many bytes a base64 text stands for, with padding or without.
fn decoded_length(base64: &str) -> usize {
    let digits = base64.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=').count();
    digits * 3 / 4
}

impl Link {
    /// Makes a link of an address.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }

    /// Sets the name, for programs.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the title, for people.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets what is there, for models.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the media type of what is there.
    #[must_use]
    pub fn with_media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Sets how many bytes are there.
    #[must_use]
    pub fn with_size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// Sets pictures of it, as the JSON array in which MCP lists them.
    #[must_use]
    pub fn with_icons(mut self, icons: Value) -> Self {
        self.icons = Some(icons);
        self
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        [&self.name, &self.title, &self.description, &self.media_type].into_iter().flatten().map(String::as_str)
    }

    /// Appends the address, and what a reader needs to know to decide whether to fetch it.
    fn write_text(&self, text: &mut String) {
        if let Some(title) = self.title.as_ref().or(self.name.as_ref()) {
            text.push_str(title);
            text.push_str(": ");
        }
        text.push_str(&self.uri);
        if let Some(description) = &self.description {
            text.push_str(" (");
            text.push_str(description);
            text.push(')');
        }
    }
}

impl Resource {
    /// Includes text, with its address.
    #[must_use]
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), media_type: None, content: ResourceContent::Text(text.into()), meta: None }
    }

    /// Includes bytes, given in base64, with their address.
    #[must_use]
    pub fn blob(uri: impl Into<String>, base64: impl Into<String>) -> Self {
        Self { uri: uri.into(), media_type: None, content: ResourceContent::Blob(base64.into()), meta: None }
    }

    /// Sets the media type.
    #[must_use]
    pub fn with_media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Sets the resource's own metadata, a JSON object; anything else is ignored.
    #[must_use]
    pub fn with_meta(mut self, meta: Box<RawValue>) -> Self {
        self.meta = Some(meta).filter(|meta| is_object(meta)).or(self.meta);
        self
    }

    /// Returns the resource's own metadata, a JSON object.
    #[must_use]
    pub fn meta(&self) -> Option<&RawValue> {
        self.meta.as_deref()
    }
}

impl ResourceContent {
    fn as_str(&self) -> &str {
        match self {
            Self::Text(content) | Self::Blob(content) => content,
        }
    }
}

impl From<PartContent> for Part {
    fn from(content: PartContent) -> Self {
        Self { content, notes: None }
    }
}

impl From<Link> for Part {
    fn from(link: Link) -> Self {
        PartContent::Link(Box::new(link)).into()
    }
}

impl From<Resource> for Part {
    fn from(resource: Resource) -> Self {
        PartContent::Resource(Box::new(resource)).into()
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content && self.annotations() == other.annotations() && same(self.meta(), other.meta())
    }
}

impl PartialEq for PartContent {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Json(a), Self::Json(b)) => a.get() == b.get(),
            (Self::Media { media_type: a, data: x }, Self::Media { media_type: b, data: y }) => a == b && x == y,
            (Self::Link(a), Self::Link(b)) => a == b,
            (Self::Resource(a), Self::Resource(b)) => a == b,
            _ => false,
        }
    }
}

impl PartialEq for Resource {
    fn eq(&self, other: &Self) -> bool {
        self.uri == other.uri
            && self.media_type == other.media_type
            && self.content == other.content
            && same(self.meta(), other.meta())
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PartType {
    Text,
    Json,
    Media,
    Link,
    Resource,
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.content {
            PartContent::Text(text) => {
                map.serialize_entry("type", &PartType::Text)?;
                map.serialize_entry("text", text)?;
            }
            PartContent::Json(json) => {
                map.serialize_entry("type", &PartType::Json)?;
                map.serialize_entry("value", json)?;
            }
            PartContent::Media { media_type, data } => {
                map.serialize_entry("type", &PartType::Media)?;
                map.serialize_entry("mediaType", media_type)?;
                map.serialize_entry("data", data)?;
            }
            PartContent::Link(link) => {
                map.serialize_entry("type", &PartType::Link)?;
                map.serialize_entry("uri", &link.uri)?;
                entry(&mut map, "name", link.name.as_ref())?;
                entry(&mut map, "title", link.title.as_ref())?;
                entry(&mut map, "description", link.description.as_ref())?;
                entry(&mut map, "mediaType", link.media_type.as_ref())?;
                entry(&mut map, "size", link.size.as_ref())?;
                entry(&mut map, "icons", link.icons.as_ref())?;
            }
            PartContent::Resource(resource) => {
                map.serialize_entry("type", &PartType::Resource)?;
                map.serialize_entry("uri", &resource.uri)?;
                entry(&mut map, "mediaType", resource.media_type.as_ref())?;
                match &resource.content {
                    ResourceContent::Text(text) => map.serialize_entry("text", text)?,
                    ResourceContent::Blob(data) => map.serialize_entry("blob", data)?,
                }
                entry(&mut map, "resourceMeta", resource.meta())?;
            }
        }
        entry(&mut map, "annotations", self.annotations())?;
        entry(&mut map, "_meta", self.meta())?;
        map.end()
    }
}

/// Writes a member that may be absent.
fn entry<M: SerializeMap, T: Serialize + ?Sized>(map: &mut M, key: &str, value: Option<&T>) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(key, value))
}

/// The members of every kind of part.
///
/// One flat object instead of a tagged enum, which would parse the JSON inside before it can be taken as text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound = "J: Deserialize<'de>")]
pub(super) struct PartForm<J> {
    r#type: PartType,
    text: Option<String>,
    #[serde(default = "Option::default", deserialize_with = "present")]
    value: Option<J>,
    media_type: Option<String>,
    data: Option<String>,
    uri: Option<String>,
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    size: Option<u64>,
    icons: Option<Value>,
    blob: Option<String>,
    resource_meta: Option<J>,
    annotations: Option<Annotations>,
    #[serde(rename = "_meta")]
    meta: Option<J>,
}

impl<J: Into<Box<RawValue>>> PartForm<J> {
    /// Makes the part, or says which member is missing.
    pub(super) fn into_part(self) -> Result<Part, &'static str> {
        let content = match self.r#type {
            PartType::Text => PartContent::Text(self.text.ok_or("a text part needs `text`")?),
            PartType::Json => PartContent::Json(self.value.ok_or("a JSON part needs `value`")?.into()),
            PartType::Media => PartContent::Media {
                media_type: self.media_type.ok_or("a media part needs `mediaType`")?,
                data: self.data.ok_or("a media part needs `data`")?,
            },
            PartType::Link => PartContent::Link(Box::new(Link {
                uri: self.uri.ok_or("a link part needs `uri`")?,
                name: self.name,
                title: self.title,
                description: self.description,
                media_type: self.media_type,
                size: self.size,
                icons: self.icons,
            })),
            PartType::Resource => PartContent::Resource(Box::new(Resource {
                uri: self.uri.ok_or("a resource part needs `uri`")?,
                media_type: self.media_type,
                content: match (self.text, self.blob) {
                    (Some(text), _) => ResourceContent::Text(text),
                    (None, Some(data)) => ResourceContent::Blob(data),
                    (None, None) => return Err("a resource part needs `text` or `blob`"),
                },
                meta: self.resource_meta.map(Into::into),
            })),
        };
        let mut part = Part::from(content);
        if self.annotations.is_some() || self.meta.is_some() {
            part.notes = Some(Box::new(Notes { annotations: self.annotations, meta: self.meta.map(Into::into) }));
        }
        Ok(part)
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        PartForm::<ParsedJson>::deserialize(deserializer)?.into_part().map_err(D::Error::custom)
    }
}
