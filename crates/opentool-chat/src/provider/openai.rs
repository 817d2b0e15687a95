//! OpenAI's chat completions, and the many servers that speak them: [`OpenAi`].

mod request;
mod response;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use reqwest::Url;

use self::response::{Chunks, read_whole};
use super::connection::{Framing, KeyHeader, Link, Settings, base_url, connection_settings, variable};
use super::{ModelRequest, Provider};
use crate::{ChatError, ChatResponse, Delta};

/// Where OpenAI itself is.
const BASE_URL: &str = "https://api.openai.com/v1";

/// The name under which a message keeps what only these servers understand.
const NAME: &str = "openai";

/// Models behind OpenAI's chat completions: OpenAI itself, llama.cpp, vLLM, LM Studio, OpenRouter and many others.
///
/// What they answer is read leniently. What only one of them understands goes into
/// [`ChatOptions::extra`](crate::ChatOptions::extra), for instance `reasoning_effort`.
///
/// ```
/// use opentool_chat::provider::OpenAi;
///
/// let hosted = OpenAi::new("gpt-5-mini").api_key("s3cret");
/// let local = OpenAi::new("qwen3").base_url("http://127.0.0.1:8080/v1");
/// assert!(!format!("{hosted:?}").contains("s3cret"));
/// ```
#[derive(Clone, Debug)]
pub struct OpenAi {
    link: Link,
    strict: bool,
}

connection_settings!(OpenAi);

impl OpenAi {
    /// Asks a model of OpenAI, unless [`base_url`](Self::base_url) says otherwise.
    pub fn new(model: impl Into<String>) -> Self {
        Self::unnamed().default_model(model)
    }

    /// Takes key, address and model from `OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL`.
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
        provider.link.set_from(variable, "OPENAI", Self::endpoint)?;
        Ok(provider)
    }

    fn unnamed() -> Self {
        let settings = Settings::new(Self::endpoint(BASE_URL), KeyHeader::Bearer);
        Self { link: Link::new(NAME, settings), strict: false }
    }

    /// Asks for arguments that follow the schemas to the letter, wherever a schema allows that; not so unless set.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Where requests go; a base URL without a path means `/v1`.
    fn endpoint(address: &str) -> Result<Url, String> {
        let mut url = base_url(address)?;
        let path = match url.path().trim_end_matches('/') {
            "" => "/v1/chat/completions".to_owned(),
            path => format!("{path}/chat/completions"),
        };
        url.set_path(&path);
        Ok(url)
    }

    fn body(&self, request: ModelRequest<'_>, stream: bool) -> Result<Bytes, ChatError> {
        let settings = &self.link.settings;
        let is_openai = settings
            .endpoint
            .as_ref()
            .is_ok_and(|url| url.host_str().is_some_and(|host| host == "openai.com" || host.ends_with(".openai.com")));
        let model = self.link.model(request.options, "OPENAI_MODEL")?;
        request::Writer { model, strict: self.strict, is_openai, stream }.body(request)
    }
}

impl Provider for OpenAi {
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
        self.link.stream(self.body(request, true), Framing::Events, Chunks::default(), read_whole)
    }
}

#[cfg(test)]
mod tests;
