//! The wire format of OpenAI.

use bytes::Bytes;
use opentool_http::{Framing, Url};

use super::address::{self, is_openai_host, operation_url};
use super::data::NAME;
use super::models::read_models;
use super::preset::Preset;
use super::request::OpenAiBody;
use super::response::{CompletionChunks, read_completion};
use crate::provider::http_provider::HttpProvider;
use crate::provider::model_info::ModelInfo;
use crate::provider::wire::{KeyHeader, Variables, WireError, WireFormat, WireRequest};
use crate::{ChatError, ChatResponse, TypedAnswers};

/// Models behind OpenAI's chat completions: OpenAI itself, llama.cpp, vLLM, LM Studio, OpenRouter and many others.
///
/// Their answers are read leniently. A [`Preset`] knows the address of a server and its variables. Options that only one of them
/// knows go into [`ChatOptions::extra`](crate::ChatOptions::extra), for instance `service_tier`.
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
    pub(super) strict: bool,
    /// The server, where it is a known one.
    pub(super) preset: Option<Preset>,
}

/// What requests go to, below the base URL.
const OPERATION: &str = "chat/completions";

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
    const VARIABLES: Variables = address::VARIABLES;
    const BASE_URL: &'static str = address::BASE_URL;
    const KEY_HEADER: KeyHeader = KeyHeader::Bearer;
    const FRAMING: Framing = Framing::Events;
    type Reader = CompletionChunks;

    /// A base URL without a path means `/v1`.
    fn endpoint(base_url: &str) -> Result<Url, String> {
        operation_url(base_url, OPERATION)
    }

    fn models_url(&self, endpoint: &Url) -> Url {
        address::models_url(endpoint, OPERATION)
    }

    fn typed_answers(&self, host: Option<&str>, with_tools: bool) -> TypedAnswers {
        match self.preset {
            Some(preset) => preset.typed_answers(with_tools),
            // The grammar that other servers make of the schema may leave no way to call a tool.
            None if with_tools && !is_openai_host(host) => TypedAnswers::ForcedTool,
            None => TypedAnswers::Native,
        }
    }

    fn write_request(&self, request: WireRequest<'_>) -> Result<Bytes, ChatError> {
        let body = OpenAiBody {
            provider: self.preset.map_or(NAME, Preset::as_str),
            strict: self.strict,
            is_openai: is_openai_host(request.host),
            is_openrouter: self.preset == Some(Preset::OpenRouter),
        };
        body.write(request)
    }

    fn read_response(text: &str) -> Result<ChatResponse, WireError> {
        read_completion(text)
    }

    fn read_models(text: &str) -> Result<Vec<ModelInfo>, WireError> {
        read_models(text)
    }
}
