//! Ollama's `/api/chat`: [`Ollama`].

mod request;
mod response;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use reqwest::Url;

use self::response::{Lines, read_whole};
use super::connection::{ApiKey, Framing, KeyHeader, Link, Settings, base_url, connection_settings, variable};
use super::{ModelRequest, Provider};
use crate::{ChatError, ChatResponse, Delta};

/// Where Ollama is unless somebody moved it.
const HOST: &str = "127.0.0.1";
const PORT: u16 = 11434;

/// Models behind Ollama's `/api/chat`.
///
/// Ollama cannot be told that a tool must be called. Where the options name one tool, only that one is offered; where any is
/// required, all are, and the model decides. What only Ollama understands goes into
/// [`ChatOptions::extra`](crate::ChatOptions::extra): `think`, `keep_alive`, or `options` with `num_ctx` in it.
///
/// ```
/// use opentool_chat::provider::Ollama;
///
/// let local = Ollama::new("qwen3");
/// let elsewhere = Ollama::new("qwen3").base_url("gpu.example:11434");
/// # let _ = (local, elsewhere);
/// ```
#[derive(Clone, Debug)]
pub struct Ollama {
    link: Link,
}

connection_settings!(Ollama);

impl Ollama {
    /// Asks a model of the Ollama on this machine, unless [`base_url`](Self::base_url) says otherwise.
    pub fn new(model: impl Into<String>) -> Self {
        Self::unnamed().default_model(model)
    }

    /// Takes address, key and model from `OLLAMA_HOST`, `OLLAMA_API_KEY` and `OLLAMA_MODEL`, none of which must be there.
    ///
    /// # Errors
    ///
    /// Where the address cannot be one.
    pub fn from_env() -> Result<Self, ChatError> {
        Self::from_variables(variable)
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ChatError> {
        let mut provider = Self::unnamed();
        let endpoint = Self::endpoint(variable("OLLAMA_HOST").as_deref().unwrap_or(HOST)).map_err(ChatError::setup)?;
        provider.link.set(|settings| {
            settings.endpoint = Ok(endpoint);
            settings.key = variable("OLLAMA_API_KEY").and_then(ApiKey::new);
            settings.model = variable("OLLAMA_MODEL");
        });
        Ok(provider)
    }

    fn unnamed() -> Self {
        Self { link: Link::new("ollama", Settings::new(Self::endpoint(HOST), KeyHeader::Bearer)) }
    }

    /// Where requests go. As Ollama reads it: a host, a port, both, or a URL; without a scheme the port is Ollama's.
    fn endpoint(host: &str) -> Result<Url, String> {
        let host = host.trim();
        let mut url = match host.contains("://") {
            true => base_url(host)?,
            false => {
                let host = match host.strip_prefix(':') {
                    Some(port) => format!("{HOST}:{port}"),
                    None => host.to_owned(),
                };
                let mut url = base_url(&format!("http://{host}"))?;
                // A port of 80 that was written down is not told by the URL, but the text ends with it.
                if url.port().is_none()
                    && !host.trim_end_matches('/').ends_with(":80")
                    && url.set_port(Some(PORT)).is_err()
                {
                    return Err(format!("`{host}` cannot be the address of a provider: it can have no port"));
                }
                url
            }
        };
        // What a server listens on with is where nobody can be reached.
        if matches!(url.host_str(), Some("0.0.0.0" | "[::]")) && url.set_host(Some(HOST)).is_err() {
            return Err(format!("`{host}` cannot be the address of a provider"));
        }
        let path = url.path().trim_end_matches('/');
        let path = format!("{}/api/chat", path.strip_suffix("/api").unwrap_or(path));
        url.set_path(&path);
        Ok(url)
    }

    fn body(&self, request: ModelRequest<'_>, stream: bool) -> Result<Bytes, ChatError> {
        request::body(self.link.model(request.options, "OLLAMA_MODEL")?, request, stream)
    }
}

impl Provider for Ollama {
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
        self.link.stream(self.body(request, true), Framing::Lines, Lines::default(), read_whole)
    }
}

#[cfg(test)]
mod tests;
