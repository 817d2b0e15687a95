//! The wire format of Anthropic.

use bytes::Bytes;
use opentool_http::{Framing, Url};

use super::data::NAME;
use super::events::AnthropicEvents;
use super::request::AnthropicBody;
use super::response::{read_message, read_models};
use crate::provider::http_provider::HttpProvider;
use crate::provider::model_info::ModelInfo;
use crate::provider::wire::{KeyHeader, Variables, WireError, WireFormat, WireRequest, provider_url};
use crate::{ChatError, ChatResponse, TypedAnswers};

/// Models behind Anthropic's messages: Anthropic itself, and servers with the same interface.
///
/// System messages become the system prompt. An answer has 4096 tokens at most, and those of a reasoning budget, unless
/// [`ChatOptions::max_tokens`](crate::ChatOptions::max_tokens) says otherwise, because the wire demands a limit. The model's
/// thinking is sent back to it with its signature and in its place. Tools and system prompt are marked for the prompt cache;
/// see [`prompt_caching`](Self::prompt_caching). Options that only Anthropic knows go into
/// [`ChatOptions::extra`](crate::ChatOptions::extra), for instance `thinking`.
///
/// ```
/// use opentool_chat::provider::Anthropic;
///
/// let claude = Anthropic::new("claude-sonnet-4-5").api_key("s3cret");
/// assert!(!format!("{claude:?}").contains("s3cret"));
/// ```
pub type Anthropic = HttpProvider<AnthropicFormat>;

/// The wire format of [`Anthropic`].
#[derive(Clone, Debug)]
pub struct AnthropicFormat {
    prompt_caching: bool,
}

impl Default for AnthropicFormat {
    fn default() -> Self {
        Self { prompt_caching: true }
    }
}

impl Anthropic {
    /// Sets whether tools and system prompt are marked for the prompt cache; on by default.
    ///
    /// What is read from the cache costs a tenth, what is written to it a quarter more. Prompts that are too short are not cached.
    #[must_use]
    pub fn prompt_caching(mut self, caching: bool) -> Self {
        self.format.prompt_caching = caching;
        self
    }
}

impl WireFormat for AnthropicFormat {
    const NAME: &'static str = NAME;
    const VARIABLES: Variables = Variables {
        key: "ANTHROPIC_API_KEY",
        other_key: None,
        url: "ANTHROPIC_BASE_URL",
        model: "ANTHROPIC_MODEL",
        required: true,
    };
    const BASE_URL: &'static str = "https://api.anthropic.com";
    const KEY_HEADER: KeyHeader = KeyHeader::Named("x-api-key");
    const HEADERS: &'static [(&'static str, &'static str)] = &[("anthropic-version", "2023-06-01")];
    const FRAMING: Framing = Framing::Events;
    type Reader = AnthropicEvents;

    /// A base URL may end with `/v1` or not.
    fn endpoint(base_url: &str) -> Result<Url, String> {
        let mut url = provider_url(base_url)?;
        let path = url.path().trim_end_matches('/');
        let path = format!("{}/v1/messages", path.strip_suffix("/v1").unwrap_or(path));
        url.set_path(&path);
        Ok(url)
    }

    fn models_url(&self, endpoint: &Url) -> Url {
        let mut url = endpoint.clone();
        let path = format!("{}/models", url.path().trim_end_matches("/messages"));
        url.set_path(&path);
        url.set_query(Some("limit=1000"));
        url
    }

    fn typed_answers(&self, host: Option<&str>, _with_tools: bool) -> TypedAnswers {
        match host {
            Some(host) if host == "anthropic.com" || host.ends_with(".anthropic.com") => TypedAnswers::Native,
            // Servers with the same interface know tools, but not all of them the newer response format.
            _ => TypedAnswers::ForcedTool,
        }
    }

    fn write_request(&self, request: WireRequest<'_>) -> Result<Bytes, ChatError> {
        AnthropicBody { prompt_caching: self.prompt_caching }.write(request)
    }

    fn read_response(text: &str) -> Result<ChatResponse, WireError> {
        read_message(text)
    }

    fn read_models(text: &str) -> Result<Vec<ModelInfo>, WireError> {
        read_models(text)
    }
}
