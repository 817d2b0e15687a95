//! Anthropic's messages: [`Anthropic`].

mod events;
mod order;
mod request;
mod response;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use reqwest::Url;

use self::events::Events;
use self::response::read_whole;
use super::connection::{Framing, KeyHeader, Link, Settings, base_url, connection_settings, variable};
use super::{ModelRequest, Provider};
use crate::{ChatError, ChatResponse, Delta};

/// Where Anthropic is.
const BASE_URL: &str = "https://api.anthropic.com";
/// The version of the wire that is spoken here.
const VERSION: &str = "2023-06-01";
/// The name under which a message keeps what only Anthropic understands.
const NAME: &str = "anthropic";

/// Models behind Anthropic's messages: Anthropic itself, and servers that speak like it.
///
/// System messages become the system prompt. An answer has 4096 tokens at most unless
/// [`ChatOptions::max_tokens`](crate::ChatOptions::max_tokens) says otherwise, since the wire demands a limit. What a model
/// thought goes back to it with its signature, in the place where it thought it. What only Anthropic understands goes into
/// [`ChatOptions::extra`](crate::ChatOptions::extra), for instance `thinking`.
///
/// ```
/// use opentool_chat::provider::Anthropic;
///
/// let claude = Anthropic::new("claude-sonnet-4-5").api_key("s3cret");
/// assert!(!format!("{claude:?}").contains("s3cret"));
/// ```
#[derive(Clone, Debug)]
pub struct Anthropic {
    link: Link,
}

connection_settings!(Anthropic);

impl Anthropic {
    /// Asks a model of Anthropic, unless [`base_url`](Self::base_url) says otherwise.
    pub fn new(model: impl Into<String>) -> Self {
        Self::unnamed().default_model(model)
    }

    /// Takes key, address and model from `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` and `ANTHROPIC_MODEL`.
    ///
    /// The key may be missing where an address is given, since servers at home want none. The model may be missing where
    /// every request's options name one.
    ///
    /// # Errors
    ///
    /// Where there is neither key nor address, or the address cannot be one.
    pub fn from_env() -> Result<Self, ChatError> {
        Self::from_variables(variable)
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ChatError> {
        let mut provider = Self::unnamed();
        provider.link.set_from(variable, "ANTHROPIC", Self::endpoint)?;
        Ok(provider)
    }

    fn unnamed() -> Self {
        let mut settings = Settings::new(Self::endpoint(BASE_URL), KeyHeader::XApiKey);
        settings.wire_header = Some(("anthropic-version", VERSION));
        Self { link: Link::new(NAME, settings) }
    }

    /// Where requests go; a base URL may end with `/v1` or not.
    fn endpoint(address: &str) -> Result<Url, String> {
        let mut url = base_url(address)?;
        let path = url.path().trim_end_matches('/');
        let path = format!("{}/v1/messages", path.strip_suffix("/v1").unwrap_or(path));
        url.set_path(&path);
        Ok(url)
    }

    fn body(&self, request: ModelRequest<'_>, stream: bool) -> Result<Bytes, ChatError> {
        request::body(self.link.model(request.options, "ANTHROPIC_MODEL")?, request, stream)
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &str {
        self.link.provider
    }

    fn model(&self) -> Option<&str> {
        self.link.settings.model.as_deref()
    }

    fn server(&self) -> Option<(&str, u16)> {
        self.link.settings.server()
    }

    fn call<'a>(&'a self, request: ModelRequest<'a>) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        let body = self.body(request, false);
        Box::pin(async move { self.link.call(body?, read_whole).await })
    }

    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, Result<Delta, ChatError>> {
        self.link.stream(self.body(request, true), Framing::Events, Events::default(), read_whole)
    }
}

#[cfg(test)]
mod tests;
