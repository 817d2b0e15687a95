//! The wire format of Gemini.

use bytes::Bytes;
use opentool_http::{Framing, Url};

use super::data::NAME;
use super::request::write_body;
use super::response::{GeminiChunks, read_content, read_models};
use crate::provider::http_provider::HttpProvider;
use crate::provider::model_info::ModelInfo;
use crate::provider::wire::{KeyHeader, Variables, WireError, WireFormat, WireRequest, provider_url};
use crate::{ChatError, ChatResponse, TypedAnswers};

/// Models behind Google's Gemini API (`generateContent`).
///
/// The signatures of the model's thoughts are sent back with the calls and the text they came with. The model's thoughts are
/// asked for with a reasoning effort or budget. Options that only Gemini knows go into
/// [`ChatOptions::extra`](crate::ChatOptions::extra), for instance `safetySettings`; what is in its `generationConfig` is merged
/// with ours.
///
/// ```
/// use opentool_chat::provider::Gemini;
///
/// let gemini = Gemini::new("gemini-2.5-flash").api_key("s3cret");
/// # let _ = gemini;
/// ```
pub type Gemini = HttpProvider<GeminiFormat>;

/// The wire format of [`Gemini`].
#[derive(Clone, Debug, Default)]
pub struct GeminiFormat;

impl WireFormat for GeminiFormat {
    const NAME: &'static str = NAME;
    const VARIABLES: Variables = Variables {
        key: "GEMINI_API_KEY",
        other_key: Some("GOOGLE_API_KEY"),
        url: "GOOGLE_GEMINI_BASE_URL",
        model: "GEMINI_MODEL",
        required: true,
    };
    const BASE_URL: &'static str = "https://generativelanguage.googleapis.com";
    const KEY_HEADER: KeyHeader = KeyHeader::Named("x-goog-api-key");
    const FRAMING: Framing = Framing::Events;
    type Reader = GeminiChunks;

    /// A base URL may end with a version or not.
    fn endpoint(base_url: &str) -> Result<Url, String> {
        let mut url = provider_url(base_url)?;
        let path = url.path().trim_end_matches('/');
        if !["/v1", "/v1beta", "/v1alpha"].iter().any(|version| path.ends_with(version)) {
            let path = format!("{path}/v1beta");
            url.set_path(&path);
        }
        Ok(url)
    }

    fn request_url(&self, endpoint: &Url, model: &str, stream: bool) -> Url {
        let mut url = endpoint.clone();
        let method = if stream { "streamGenerateContent" } else { "generateContent" };
        if let Ok(mut path) = url.path_segments_mut() {
            // A tuned model has its folder in its name.
            if !model.contains('/') {
                path.push("models");
            }
            let (folders, name) = model.rsplit_once('/').map_or((None, model), |(folders, name)| (Some(folders), name));
            path.extend(folders.into_iter().flat_map(|folders| folders.split('/')));
            path.push(&format!("{name}:{method}"));
        }
        url.set_query(stream.then_some("alt=sse"));
        url
    }

    fn models_url(&self, endpoint: &Url) -> Url {
        let mut url = endpoint.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.push("models");
        }
        url.set_query(Some("pageSize=1000"));
        url
    }

    fn typed_answers(&self, _host: Option<&str>, with_tools: bool) -> TypedAnswers {
        // Models before the third generation refuse a schema beside tools.
        if with_tools { TypedAnswers::ForcedTool } else { TypedAnswers::Native }
    }

    fn write_request(&self, request: WireRequest<'_>) -> Result<Bytes, ChatError> {
        write_body(request)
    }

    fn read_response(text: &str) -> Result<ChatResponse, WireError> {
        read_content(text)
    }

    fn read_models(text: &str) -> Result<Vec<ModelInfo>, WireError> {
        read_models(text)
    }
}
