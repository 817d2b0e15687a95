//! The wire format of Anthropic.

use bytes::Bytes;
use opentool_http::{Framing, Url};

use super::data::NAME;
use super::events::AnthropicEvents;
use super::request::write_body;
use super::response::read_message;
use crate::provider::http_provider::HttpProvider;
use crate::provider::wire::{KeyHeader, Variables, WireError, WireFormat, WireRequest, provider_url};
use crate::{ChatError, ChatResponse, TypedAnswers};

/// Models behind Anthropic's messages: Anthropic itself, and servers with the same interface.
///
/// System messages become the system prompt. An answer has 4096 tokens at most unless
/// [`ChatOptions::max_tokens`](crate::ChatOptions::max_tokens) says otherwise, because the wire demands a limit. The model's
/// thinking is sent back to it with its signature and in its place. Options that only Anthropic knows go into
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
#[derive(Clone, Debug, Default)]
pub struct AnthropicFormat;

impl WireFormat for AnthropicFormat {
    const NAME: &'static str = NAME;
    const VARIABLES: Variables =
        Variables { key: "ANTHROPIC_API_KEY", url: "ANTHROPIC_BASE_URL", model: "ANTHROPIC_MODEL", required: true };
    const BASE_URL: &'static str = "https://api.anthropic.com";
    const KEY_HEADER: KeyHeader = KeyHeader::XApiKey;
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

    fn typed_answers(&self, _with_tools: bool) -> TypedAnswers {
        TypedAnswers::Native
    }

    fn write_request(&self, request: WireRequest<'_>) -> Result<Bytes, ChatError> {
        write_body(request)
    }

    fn read_response(text: &str) -> Result<ChatResponse, WireError> {
        read_message(text)
    }
}
