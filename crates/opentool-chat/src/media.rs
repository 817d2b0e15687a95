//! Images, sounds and files: [`Media`].

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use opentool_core::{Part, PartContent, ResourceContent};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// An image, a sound or a file, with its media type: bytes, or the URL at which the provider finds them.
///
/// Bytes are base64 that was checked when the value was made or read. A URL is handed to the provider as it is; nothing is ever
/// fetched here. A clone shares the bytes.
///
/// ```
/// use opentool_chat::{Media, MediaKind};
///
/// let photo = Media::from_bytes("image/png", b"\x89PNG\r\n\x1a\n")?;
/// assert_eq!((photo.kind(), photo.base64(), photo.size()), (MediaKind::Image, Some("iVBORw0KGgo="), Some(8)));
/// assert_eq!(photo.to_string(), "[image/png, 8 bytes]");
///
/// let report = Media::from_url("application/pdf", "https://files.example/report.pdf")?.with_name("report.pdf");
/// assert_eq!(report.url(), Some("https://files.example/report.pdf"));
///
/// let broken = Media::from_base64("image/png", "no base64!").unwrap_err();
/// assert!(broken.to_string().starts_with("the image/png is no base64: "));
/// # Ok::<(), opentool_chat::MediaError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "MediaForm", into = "MediaForm")]
pub struct Media {
    media_type: Arc<str>,
    source: MediaSource,
    name: Option<Arc<str>>,
}

#[derive(Clone, PartialEq, Eq)]
enum MediaSource {
    Base64(Arc<str>),
    Url(Arc<str>),
}

/// What a model does with media: looks at it, listens to it, or reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MediaKind {
    /// An image.
    Image,
    /// A sound.
    Audio,
    /// Anything else, for instance a PDF or a text.
    File,
}

impl MediaKind {
    /// Returns the word for it in a message: `image`, `audio` or `file`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::File => "file",
        }
    }
}

/// Why something cannot be sent as [`Media`].
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MediaError {
    /// The file cannot be read.
    #[error("{path} cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// The file's name does not say what it is.
    #[error("{path} has no extension that names its media type: give its bytes with the media type")]
    UnknownType {
        /// The file.
        path: String,
    },
    /// The media type is none.
    #[error("`{0}` is no media type: write one like image/png")]
    InvalidType(String),
    /// The text is no base64.
    #[error("the {media_type} is no base64: {problem}")]
    InvalidBase64 {
        /// The media type.
        media_type: String,
        /// What is wrong.
        problem: String,
    },
    /// The URL is none that a provider could fetch.
    #[error("`{0}` is no URL that a provider can fetch: it must begin with https://, http:// or gs://")]
    InvalidUrl(String),
    /// There is nothing in it.
    #[error("the {0} is empty")]
    Empty(String),
}

impl Media {
    /// Reads a file; its media type is that of its extension. The thread waits for the file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is empty, or has an extension that is not known.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, MediaError> {
        let path = path.as_ref();
        let shown = || path.display().to_string();
        let media_type = media_type_of(path).ok_or_else(|| MediaError::UnknownType { path: shown() })?;
        let bytes = std::fs::read(path).map_err(|source| MediaError::Unreadable { path: shown(), source })?;
        let media = Self::from_bytes(media_type, bytes)?;
        Ok(match path.file_name() {
            Some(name) => media.with_name(&*name.to_string_lossy()),
            None => media,
        })
    }

    /// Takes bytes.
    ///
    /// # Errors
    ///
    /// When the media type is none, or there are no bytes.
    pub fn from_bytes(media_type: impl AsRef<str>, bytes: impl AsRef<[u8]>) -> Result<Self, MediaError> {
        Self::from_valid_base64(media_type.as_ref(), STANDARD.encode(bytes).into())
    }

    /// Takes bytes in base64, with padding; blanks and line ends in it are removed.
    ///
    /// # Errors
    ///
    /// When the media type is none, or the text is no base64 or empty.
    pub fn from_base64(media_type: impl AsRef<str>, base64: impl AsRef<str>) -> Result<Self, MediaError> {
        let media_type = media_type.as_ref();
        let text: String = base64.as_ref().chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
        let problem = STANDARD.decode(&text).err().map(|error| error.to_string());
        match problem {
            Some(problem) => Err(MediaError::InvalidBase64 { media_type: media_type.to_owned(), problem }),
            None => Self::from_valid_base64(media_type, text.into()),
        }
    }

    /// Takes the URL at which the provider finds the bytes.
    ///
    /// # Errors
    ///
    /// When the media type is none, or the URL is none that a provider can fetch.
    pub fn from_url(media_type: impl AsRef<str>, url: impl AsRef<str>) -> Result<Self, MediaError> {
        let url = url.as_ref().trim();
        let address = ["https://", "http://", "gs://"].iter().find_map(|scheme| url.strip_prefix(scheme));
        match address {
            Some(rest) if !rest.is_empty() && !url.contains(char::is_whitespace) => {
                let media_type = checked_type(media_type.as_ref())?;
                Ok(Self { media_type, source: MediaSource::Url(url.into()), name: None })
            }
            _ => Err(MediaError::InvalidUrl(url.to_owned())),
        }
    }

    /// Takes the bytes of a tool's result, where they are bytes and can be sent.
    #[must_use]
    pub fn from_part(part: &Part) -> Option<Self> {
        let media = match &part.content {
            PartContent::Media { media_type, data } => Self::from_base64(media_type, data),
            PartContent::Resource(resource) => match &resource.content {
                ResourceContent::Blob(data) => {
                    let media = Self::from_base64(resource.media_type.as_deref()?, data);
                    let name = resource.uri.rsplit('/').next().filter(|name| !name.is_empty());
                    media.map(|media| name.into_iter().fold(media, Self::with_name))
                }
                _ => return None,
            },
            _ => return None,
        };
        media.ok()
    }

    fn from_valid_base64(media_type: &str, base64: Arc<str>) -> Result<Self, MediaError> {
        let media_type = checked_type(media_type)?;
        match base64.is_empty() {
            true => Err(MediaError::Empty(media_type.to_string())),
            false => Ok(Self { media_type, source: MediaSource::Base64(base64), name: None }),
        }
    }

    /// Sets the name of the file, which some providers show to the model.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Returns the media type, in lower case and without parameters, for instance `image/png`.
    #[must_use]
    pub fn media_type(&self) -> &str {
        &self.media_type
    }

    /// Returns what a model does with it.
    #[must_use]
    pub fn kind(&self) -> MediaKind {
        match self.media_type.split('/').next() {
            Some("image") => MediaKind::Image,
            Some("audio") => MediaKind::Audio,
            _ => MediaKind::File,
        }
    }

    /// Returns the bytes in base64; none where there is a URL.
    #[must_use]
    pub fn base64(&self) -> Option<&str> {
        match &self.source {
            MediaSource::Base64(text) => Some(text),
            MediaSource::Url(_) => None,
        }
    }

    /// Returns the URL; none where there are bytes.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match &self.source {
            MediaSource::Url(url) => Some(url),
            MediaSource::Base64(_) => None,
        }
    }

    /// Returns the bytes as a `data:` URL, or the URL.
    #[must_use]
    pub fn to_url(&self) -> String {
        match &self.source {
            MediaSource::Base64(text) => format!("data:{};base64,{text}", self.media_type),
            MediaSource::Url(url) => url.to_string(),
        }
    }

    /// Returns the bytes; none where there is a URL.
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        STANDARD.decode(self.base64()?).ok()
    }

    /// Returns how many bytes there are; none where there is a URL.
    #[must_use]
    pub fn size(&self) -> Option<usize> {
        let text = self.base64()?;
        Some(text.len() / 4 * 3 - text.bytes().rev().take_while(|byte| *byte == b'=').count())
    }

    /// Returns the name of the file.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

/// The type and the size, or the URL: what stands for it in a text.
impl fmt::Display for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.source, self.size()) {
            (MediaSource::Url(url), _) => write!(f, "[{}, {url}]", self.media_type),
            (_, size) => write!(f, "[{}, {} bytes]", self.media_type, size.unwrap_or_default()),
        }
    }
}

/// Shows the type and the size, and not the bytes.
impl fmt::Debug for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Media({self}")?;
        if let Some(name) = &self.name {
            write!(f, ", {name:?}")?;
        }
        f.write_str(")")
    }
}

/// A media type as it can be sent: `type/subtype`, lower case, without parameters.
fn checked_type(media_type: &str) -> Result<Arc<str>, MediaError> {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_token = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    match essence.split_once('/') {
        Some((kind, subtype)) if is_token(kind) && is_token(subtype) => Ok(essence.into()),
        _ => Err(MediaError::InvalidType(media_type.to_owned())),
    }
}

/// The media type of a file by its extension: what at least one provider takes.
fn media_type_of(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    let media_type = match extension.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "bmp" => "image/bmp",
        "heic" => "image/heic",
        "heif" => "image/heif",
        "avif" => "image/avif",
        "tif" | "tiff" => "image/tiff",
        "svg" => "image/svg+xml",
        "wav" => "audio/wav",
        "mp3" => "audio/mpeg",
        "m4a" => "audio/mp4",
        "aac" => "audio/aac",
        "flac" => "audio/flac",
        "ogg" | "oga" | "opus" => "audio/ogg",
        "aiff" | "aif" => "audio/aiff",
        "mp4" => "video/mp4",
        "mov" => "video/quicktime",
        "webm" => "video/webm",
        "mpg" | "mpeg" => "video/mpeg",
        "pdf" => "application/pdf",
        "json" => "application/json",
        "xml" => "application/xml",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "txt" | "text" | "log" => "text/plain",
        "md" | "markdown" => "text/markdown",
        "csv" => "text/csv",
        "tsv" => "text/tab-separated-values",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "js" | "mjs" => "text/javascript",
        "py" => "text/x-python",
        "rs" => "text/x-rust",
        "c" | "h" => "text/x-c",
        "cpp" | "hpp" | "cc" => "text/x-c++",
        "java" => "text/x-java",
        "go" => "text/x-go",
        "ts" => "text/x-typescript",
        "sh" => "text/x-sh",
        "doc" => "application/msword",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xls" => "application/vnd.ms-excel",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "ppt" => "application/vnd.ms-powerpoint",
        "pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "rtf" => "application/rtf",
        "zip" => "application/zip",
        _ => return None,
    };
    Some(media_type)
}

/// How media is stored.
#[derive(Serialize, Deserialize)]
struct MediaForm {
    media_type: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<Arc<str>>,
}

impl From<Media> for MediaForm {
    fn from(media: Media) -> Self {
        let (data, url) = match media.source {
            MediaSource::Base64(text) => (Some(text), None),
            MediaSource::Url(url) => (None, Some(url)),
        };
        Self { media_type: media.media_type, data, url, name: media.name }
    }
}

impl TryFrom<MediaForm> for Media {
    type Error = MediaError;

    fn try_from(form: MediaForm) -> Result<Self, MediaError> {
        let media = match (&form.data, &form.url) {
            (Some(data), _) => Self::from_base64(&form.media_type, data),
            (None, Some(url)) => Self::from_url(&form.media_type, url),
            (None, None) => Err(MediaError::Empty(form.media_type.to_string())),
        }?;
        Ok(form.name.into_iter().fold(media, Self::with_name))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use opentool_core::Resource;

    use super::*;

    #[test]
    fn a_file_is_read_with_the_type_of_its_extension() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("Photo.JPG");
        std::fs::write(&path, b"\xff\xd8\xff").unwrap();
        let media = Media::from_path(&path).unwrap();
        assert_eq!((media.media_type(), media.base64(), media.name()), ("image/jpeg", Some("/9j/"), Some("Photo.JPG")));
        assert_eq!(media.to_url(), "data:image/jpeg;base64,/9j/");
        assert_eq!(media.to_bytes().unwrap(), b"\xff\xd8\xff");

        let unknown = folder.path().join("photo");
        assert!(matches!(Media::from_path(&unknown), Err(MediaError::UnknownType { .. })));
        let missing = Media::from_path(folder.path().join("none.png")).unwrap_err().to_string();
        assert!(missing.contains("none.png cannot be read: "), "{missing}");
        std::fs::write(folder.path().join("empty.png"), b"").unwrap();
        let empty = Media::from_path(folder.path().join("empty.png")).unwrap_err();
        assert_eq!(empty.to_string(), "the image/png is empty");
    }

    #[test]
    fn invalid_types_texts_and_urls_are_refused() {
        for media_type in ["", "png", "image/", "/png", "image/p ng", "image\n/png", "a/b/c"] {
            let error = Media::from_bytes(media_type, b"x").unwrap_err();
            assert!(matches!(error, MediaError::InvalidType(_)), "{media_type:?}: {error}");
        }
        for text in ["a", "ab", "====", "é===", "YQ"] {
            assert!(matches!(Media::from_base64("image/png", text), Err(MediaError::InvalidBase64 { .. })), "{text}");
        }
        for url in ["", "photo.png", "file:///etc/passwd", "https://", "https://a b", "data:image/png;base64,YQ=="] {
            assert!(matches!(Media::from_url("image/png", url), Err(MediaError::InvalidUrl(_))), "{url}");
        }
    }

    #[test]
    fn the_size_is_that_of_the_bytes() {
        for length in 1..10 {
            let media = Media::from_bytes("text/plain; charset=utf-8", vec![b'x'; length]).unwrap();
            assert_eq!((media.size(), media.media_type()), (Some(length), "text/plain"));
        }
        assert_eq!(Media::from_base64("Image/PNG", "YW\nJj \r\n").unwrap().to_string(), "[image/png, 3 bytes]");
    }

    #[test]
    fn stored_media_is_checked_when_it_is_read() {
        let media = Media::from_bytes("audio/wav", b"RIFF").unwrap().with_name("a.wav");
        let stored = serde_json::to_string(&media).unwrap();
        assert_eq!(stored, r#"{"media_type":"audio/wav","data":"UklGRg==","name":"a.wav"}"#);
        assert_eq!(serde_json::from_str::<Media>(&stored).unwrap(), media);
        let url = Media::from_url("image/png", "https://a.example/b.png").unwrap();
        assert_eq!(serde_json::from_str::<Media>(&serde_json::to_string(&url).unwrap()).unwrap(), url);
        assert!(serde_json::from_str::<Media>(r#"{"media_type":"audio/wav","data":"!"}"#).is_err());
        assert!(serde_json::from_str::<Media>(r#"{"media_type":"audio/wav"}"#).is_err());
        assert_eq!(format!("{media:?}"), "Media([audio/wav, 4 bytes], \"a.wav\")");
    }

    #[test]
    fn bytes_of_a_tool_s_result_become_media() {
        let media = Media::from_part(&Part::media("image/png", "YWJj")).unwrap();
        assert_eq!((media.kind(), media.base64()), (MediaKind::Image, Some("YWJj")));
        let resource = Resource::blob("file:///tmp/a.pdf", "YWJj").with_media_type("application/pdf");
        let media = Media::from_part(&Part::from(resource)).unwrap();
        assert_eq!((media.kind(), media.name()), (MediaKind::File, Some("a.pdf")));
        assert!(Media::from_part(&Part::media("image/png", "?")).is_none());
        assert!(Media::from_part(&Part::text("abc")).is_none());
    }
}
