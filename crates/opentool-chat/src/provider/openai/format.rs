//! The wire format of OpenAI.

use bytes::Bytes;
use opentool_http::{Framing, Url};

use super::data::NAME;
use super::request::OpenAiBody;
use super::response::{CompletionChunks, read_completion};
use crate::provider::http_provider::HttpProvider;
use crate::provider::wire::{KeyHeader, Variables, WireError, WireFormat, WireRequest, provider_url};
use crate::{ChatError, ChatResponse, TypedAnswers};

/// Models behind OpenAI's chat completions: OpenAI itself, llama.cpp, vLLM, LM Studio, OpenRouter and many others.
///
/// Their answers are read leniently. Options that only one of them knows go into
/// [`ChatOptions::extra`](crate::ChatOptions::extra), for instance `reasoning_effort`.
///
/// ```
/// use opentool_chat::provider::OpenAi;
///
/// let hosted = OpenAi::new("gpt-5-mini").api_key("s3cret");
/// let local = OpenAi::new("qwen3").base_url("http://127.0.0.1:8080/v1");
/// assert!(!format!("{hosted:?}").contains("s3cret"));
/// ```
pub type OpenAi = HttpProvider<OpenAiFormat>;

/// The wire format of [`OpenAi`].
#[derive(Clone, Debug, Default)]
pub struct OpenAiFormat {
    strict: bool,
}

impl OpenAi {
    /// Sets whether arguments must follow the schemas exactly, for every schema that allows it; off by default.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.format.strict = strict;
        self
    }
}

impl WireFormat for OpenAiFormat {
    const NAME: &'static str = NAME;
    const VARIABLES: Variables =
        Variables { key: "OPENAI_API_KEY", url: "OPENAI_BASE_URL", model: "OPENAI_MODEL", required: true };
    const BASE_URL: &'static str = "https://api.openai.com/v1";
    const KEY_HEADER: KeyHeader = KeyHeader::Bearer;
    const FRAMING: Framing = Framing::Events;
    type Reader = CompletionChunks;

    /// A base URL without a path means `/v1`.
    fn endpoint(base_url: &str) -> Result<Url, String> {
        let mut url = provider_url(base_url)?;
        let path = match url.path().trim_end_matches('/') {
            "" => "/v1/chat/completions".to_owned(),
            path => format!("{path}/chat/completions"),
        };
        url.set_path(&path);
        Ok(url)
    }

    fn typed_answers(&self, _with_tools: bool) -> TypedAnswers {
        TypedAnswers::Native
    }

    fn write_request(&self, request: WireRequest<'_>) -> Result<Bytes, ChatError> {
        let is_openai = request.host.is_some_and(|host| host == "openai.com" || host.ends_with(".openai.com"));
        OpenAiBody { strict: self.strict, is_openai }.write(request)
    }

    fn read_response(text: &str) -> Result<ChatResponse, WireError> {
        read_completion(text)
    }
}
