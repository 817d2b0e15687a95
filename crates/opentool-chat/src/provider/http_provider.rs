//! A provider behind an HTTP API: [`HttpProvider`].

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use opentool_http::{ApiKey, HttpRequest};

use super::connection::Connection;
use super::delta_stream::delta_stream;
use super::interface::Provider;
use super::model_info::ModelInfo;
use super::request::ModelRequest;
use super::settings::ProviderSettings;
use super::wire::{Variables, WireFormat, WireRequest};
use crate::{ChatError, ChatResponse, Delta, TypedAnswers};

/// A provider behind an HTTP API, in one of the wire formats: [`OpenAi`](super::OpenAi),
/// [`OpenAiResponses`](super::OpenAiResponses), [`AzureOpenAi`](super::AzureOpenAi), [`Anthropic`](super::Anthropic),
/// [`Gemini`](super::Gemini), [`Ollama`](super::Ollama).
#[derive(Clone, Debug)]
pub struct HttpProvider<W> {
    pub(crate) format: W,
    pub(crate) connection: Connection,
}

impl<W: WireFormat> HttpProvider<W> {
    /// Makes a provider that asks a model at the provider's own address, unless [`base_url`](Self::base_url) says otherwise.
    pub fn new(model: impl Into<String>) -> Self {
        Self::without_model().default_model(model)
    }

    /// Takes key, address and model from the environment.
    ///
    /// | | key | address | model |
    /// |---|---|---|---|
    /// | [`OpenAi`](super::OpenAi), [`OpenAiResponses`](super::OpenAiResponses) | `OPENAI_API_KEY` | `OPENAI_BASE_URL` | `OPENAI_MODEL` |
    /// | [`AzureOpenAi`](super::AzureOpenAi) | `AZURE_OPENAI_API_KEY` | `AZURE_OPENAI_ENDPOINT` | `AZURE_OPENAI_DEPLOYMENT` |
    /// | [`Anthropic`](super::Anthropic) | `ANTHROPIC_API_KEY` | `ANTHROPIC_BASE_URL` | `ANTHROPIC_MODEL` |
    /// | [`Gemini`](super::Gemini) | `GEMINI_API_KEY` or `GOOGLE_API_KEY` | `GOOGLE_GEMINI_BASE_URL` | `GEMINI_MODEL` |
    /// | [`Ollama`](super::Ollama) | `OLLAMA_API_KEY` | `OLLAMA_HOST` | `OLLAMA_MODEL` |
    ///
    /// The key may be missing if an address is given, since local servers need none; Ollama needs neither, and Azure always an
    /// address. The model may be missing if the options of every request name one. [`Preset`](super::Preset) has the variables
    /// of servers that speak OpenAI's chat completions.
    ///
    /// # Errors
    ///
    /// When neither key nor address is set, or the address is invalid.
    pub fn from_env() -> Result<Self, ChatError> {
        // A blank variable counts as missing.
        let read = |name: &str| std::env::var(name).ok().map(|value| value.trim().to_owned());
        Self::from_variables(|name| read(name).filter(|value| !value.is_empty()))
    }

    pub(crate) fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ChatError> {
        let format = W::from_variables(&variable);
        Self { format, ..Self::without_model() }.with_variables(W::VARIABLES, W::BASE_URL, variable)
    }

    pub(crate) fn with_variables(
        self,
        names: Variables,
        base_url: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ChatError> {
        let key = variable(names.key).or_else(|| variable(names.other_key?));
        let url = variable(names.url);
        if names.required && key.is_none() && url.is_none() {
            let message = "is not set: set it to your key, or";
            return Err(ChatError::setup(format!("{} {message} {} to a server that needs none", names.key, names.url)));
        }
        let endpoint = W::endpoint(url.as_deref().unwrap_or(base_url)).map_err(ChatError::setup)?;
        Ok(self.set(|settings| {
            settings.endpoint = Ok(endpoint);
            settings.key = key.and_then(ApiKey::new);
            settings.model = variable(names.model);
        }))
    }

    pub(crate) fn without_model() -> Self {
        Self { format: W::default(), connection: Connection::new::<W>() }
    }

    /// Asks the provider which models it has.
    ///
    /// # Errors
    ///
    /// When it does not say, like any other request.
    pub async fn models(&self) -> Result<Vec<ModelInfo>, ChatError> {
        let request = HttpRequest::get(self.format.models_url(self.connection.endpoint()?));
        let response = self.connection.send(request).await?;
        let mut models = self.connection.read_models::<W>(response).await?;
        models.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(models)
    }

    pub(crate) fn set(mut self, change: impl FnOnce(&mut ProviderSettings)) -> Self {
        self.connection.set(change);
        self
    }

    /// Sets the address of the provider. An invalid one is an error of the first request.
    #[must_use]
    pub fn base_url(self, url: impl AsRef<str>) -> Self {
        self.set(|settings| settings.endpoint = W::endpoint(url.as_ref()))
    }

    /// Sets the API key, which appears in no error, no log and no `Debug`.
    #[must_use]
    pub fn api_key(self, key: impl AsRef<str>) -> Self {
        self.set(|settings| settings.key = ApiKey::new(key.as_ref().trim()))
    }

    /// Sets the model that is asked if a request's options name none.
    #[must_use]
    pub fn default_model(self, model: impl Into<String>) -> Self {
        self.set(|settings| settings.model = Some(model.into()))
    }

    /// Adds a header to every request; like the key, its value is never shown.
    #[must_use]
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.set(|settings| settings.headers.push((name.into(), value.into())))
    }

    /// Sets how long connecting may take; 10 s by default.
    #[must_use]
    pub fn connect_timeout(self, time: Duration) -> Self {
        self.set(|settings| settings.connect_timeout = time)
    }

    /// Sets how long an answer may take to begin; 600 s by default, because without streaming it begins when the last word is
    /// written, and a model may think for minutes before the first.
    #[must_use]
    pub fn response_timeout(self, time: Duration) -> Self {
        self.set(|settings| settings.response_timeout = time)
    }

    /// Sets how long an answer that has begun may be silent; 120 s by default. What only keeps the connection alive does not count.
    #[must_use]
    pub fn idle_timeout(self, time: Duration) -> Self {
        self.set(|settings| settings.idle_timeout = time)
    }

    /// Sets how often a request is sent again if the provider is overloaded, out of order or out of reach; by default 5 times if
    /// it limits the rate of requests (429), and else twice.
    ///
    /// Never once an answer has begun.
    #[must_use]
    pub fn retries(self, retries: u32) -> Self {
        self.set(|settings| {
            settings.retry.retries = retries;
            settings.retry.rate_limit_retries = retries;
        })
    }

    /// Sets how long after the first attempt the last may begin; 120 s by default.
    #[must_use]
    pub fn retry_for(self, time: Duration) -> Self {
        self.set(|settings| settings.retry.max_total = time)
    }

    /// Sets the wait before the first retry, which doubles with every further one; 500 ms by default.
    ///
    /// It is twice that if the provider limits the rate of requests. If it asks for a longer wait, that counts. Waits are
    /// shortened at random, by up to a half.
    #[must_use]
    pub fn backoff(self, wait: Duration) -> Self {
        self.set(|settings| settings.retry.backoff = wait)
    }

    /// Sets the longest wait before a retry; 60 s by default. A provider that asks for more gets no retry: the error
    /// [says](crate::ChatError::retry_after) when to try again.
    #[must_use]
    pub fn longest_wait(self, wait: Duration) -> Self {
        self.set(|settings| {
            settings.retry.max_backoff = wait;
            settings.retry.max_retry_after = wait;
        })
    }

    /// Sets how many bytes an answer may have; 32 MiB by default.
    #[must_use]
    pub fn max_response_size(self, bytes: usize) -> Self {
        self.set(|settings| settings.max_response_size = bytes)
    }

    /// Sets how the model is held to the form of a typed answer, where the server behind the address can do less, or more, than
    /// the provider itself.
    #[must_use]
    pub fn typed_answers_by(self, means: TypedAnswers) -> Self {
        self.set(|settings| settings.typed_answers = Some(means))
    }

    /// Trusts these certificates (PEM) instead of the system's.
    #[must_use]
    pub fn ca_certificates(self, pem: impl AsRef<[u8]>) -> Self {
        let pem: Arc<[u8]> = pem.as_ref().into();
        self.set(|settings| settings.ca_certificates = Some(pem))
    }

    pub(crate) fn body(&self, request: ModelRequest<'_>, stream: bool) -> Result<Bytes, ChatError> {
        let (model, host) = (self.chosen_model(request)?, self.connection.settings.host());
        self.format.write_request(WireRequest { model, host, request, stream })
    }

    fn chosen_model<'a>(&'a self, request: ModelRequest<'a>) -> Result<&'a str, ChatError> {
        let settings = &self.connection.settings;
        request.options.model.as_deref().or(settings.model.as_deref()).ok_or_else(|| {
            let (provider, variable) = (self.connection.provider, settings.model_variable);
            ChatError::setup(format!("no model of {provider} is chosen: name one in the options, or set {variable}"))
        })
    }

    fn http_request(&self, request: ModelRequest<'_>, stream: bool) -> Result<HttpRequest, ChatError> {
        let body = self.body(request, stream)?;
        let url = self.format.request_url(self.connection.endpoint()?, self.chosen_model(request)?, stream);
        Ok(HttpRequest::post(url).json(body))
    }
}

impl<W: WireFormat> Provider for HttpProvider<W> {
    fn name(&self) -> &str {
        self.connection.provider
    }

    fn model(&self) -> Option<&str> {
        self.connection.settings.model.as_deref()
    }

    fn server(&self) -> Option<(&str, u16)> {
        self.connection.settings.server()
    }

    fn typed_answers(&self, with_tools: bool) -> TypedAnswers {
        let settings = &self.connection.settings;
        settings.typed_answers.unwrap_or_else(|| self.format.typed_answers(settings.host(), with_tools))
    }

    fn call<'a>(&'a self, request: ModelRequest<'a>) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        let request = self.http_request(request, false);
        Box::pin(async move {
            let response = self.connection.send(request?).await?;
            self.connection.read::<W>(response).await
        })
    }

    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, Result<Delta, ChatError>> {
        delta_stream::<W>(&self.connection, self.http_request(request, true))
    }
}
