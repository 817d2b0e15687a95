//! The link to a provider: requests, sent again where that may help, and their answers.

use std::sync::OnceLock;
use std::time::SystemTime;

use bytes::Bytes;
use futures_core::stream::BoxStream;
use reqwest::{Response, Url};
use tokio::time::{sleep, timeout};

use super::answer::{Answer, innermost};
use super::fault::{beginning, excerpt};
use super::http::Http;
use super::retry::{retry_after, wait_before};
use super::stream::{self, Reader};
use super::{ApiKey, Fault, Framing, Settings};
use crate::provider::permit_request;
use crate::{ChatError, ChatOptions, ChatResponse, Delta};

/// Reads a whole answer.
pub(crate) type ReadWhole = fn(&str) -> Result<ChatResponse, Fault>;

/// The link to a provider; its HTTP client is made when it is first needed.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// The provider's name.
    pub(crate) provider: &'static str,
    pub(crate) settings: Settings,
    http: OnceLock<Result<Http, String>>,
}

/// An attempt that failed.
struct Failure {
    error: ChatError,
    /// Whether the provider says that another attempt is no use.
    hopeless: bool,
}

impl From<ChatError> for Failure {
    fn from(error: ChatError) -> Self {
        Self { error, hopeless: false }
    }
}

impl Link {
    pub(crate) fn new(provider: &'static str, settings: Settings) -> Self {
        Self { provider, settings, http: OnceLock::new() }
    }

    /// Changes the settings.
    pub(crate) fn set(&mut self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.settings);
        self.http = OnceLock::new();
    }

    /// Takes key, address and model from variables that begin with a provider's name.
    pub(crate) fn set_from(
        &mut self,
        variables: impl Fn(&str) -> Option<String>,
        name: &str,
        endpoint: impl FnOnce(&str) -> Result<Url, String>,
    ) -> Result<(), ChatError> {
        let [key_name, url_name] = ["API_KEY", "BASE_URL"].map(|suffix| format!("{name}_{suffix}"));
        let (key, url) = (variables(&key_name), variables(&url_name));
        if key.is_none() && url.is_none() {
            return Err(ChatError::setup(format!(
                "{key_name} is not set: set it to your key, or {url_name} to a server that needs none"
            )));
        }
        let endpoint = url.map(|url| endpoint(&url)).transpose().map_err(ChatError::setup)?;
        self.set(|settings| {
            if let Some(endpoint) = endpoint {
                settings.endpoint = Ok(endpoint);
            }
            settings.key = key.and_then(ApiKey::new);
            settings.model = variables(&format!("{name}_MODEL"));
        });
        Ok(())
    }

    /// The model to ask.
    pub(crate) fn model<'a>(&'a self, options: &'a ChatOptions, variable: &str) -> Result<&'a str, ChatError> {
        options.model.as_deref().or(self.settings.model.as_deref()).ok_or_else(|| {
            let provider = self.provider;
            ChatError::setup(format!("no model of {provider} is chosen: name one in the options, or set {variable}"))
        })
    }

    /// Asks and reads the whole answer.
    pub(crate) async fn call(&self, body: Bytes, read: ReadWhole) -> Result<ChatResponse, ChatError> {
        let body = self.ask(body).await?.whole().await?;
        self.read(&body, read)
    }

    /// Asks and reads the answer as it comes.
    pub(crate) fn stream<'a>(
        &'a self,
        body: Result<Bytes, ChatError>,
        framing: Framing,
        reader: impl Reader + 'a,
        read: ReadWhole,
    ) -> BoxStream<'a, Result<Delta, ChatError>> {
        stream::stream(self, body, framing, reader, read)
    }

    /// Reads a whole answer.
    pub(crate) fn read(&self, body: &[u8], read: ReadWhole) -> Result<ChatResponse, ChatError> {
        let text = String::from_utf8_lossy(body);
        read(text.trim_start_matches('\u{feff}').trim()).map_err(|fault| self.fault(fault))
    }

    /// Sends a request until an answer begins, or no further attempt makes sense.
    pub(crate) async fn ask(&self, body: Bytes) -> Result<Answer<'_>, ChatError> {
        permit_request(self.provider)?;
        let http = self.http.get_or_init(|| Http::new(&self.settings)).as_ref().map_err(ChatError::setup)?;
        let mut attempt = 1;
        loop {
            let failure = match self.attempt(http, body.clone()).await {
                Ok(response) => return Ok(Answer::new(self, response)),
                Err(failure) => failure,
            };
            let wait = wait_before(attempt, &self.settings, &failure.error).filter(|_| !failure.hopeless);
            let Some(wait) = wait else { return Err(failure.error) };
            let (provider, error) = (self.provider, failure.error);
            tracing::debug!(target: "opentool::chat", provider, %error, ?wait, "the provider is in trouble; trying again");
            sleep(wait).await;
            attempt += 1;
        }
    }

    async fn attempt(&self, http: &Http, body: Bytes) -> Result<Response, Failure> {
        let Settings { response_timeout, .. } = self.settings;
        let request = http.client.post(http.endpoint.clone()).headers(http.headers.clone()).body(body);
        let response = timeout(response_timeout, request.send())
            .await
            .map_err(|_| ChatError::timed_out(self.provider, format!("no answer within {response_timeout:?}")))?
            .map_err(|error| self.broken(error))?;
        let status = response.status();
        tracing::debug!(target: "opentool::chat", provider = self.provider, status = status.as_u16(), "the provider answered");
        if status.is_success() {
            return Ok(response);
        }
        if status.is_redirection() {
            let message = "it redirects elsewhere, and redirects are not followed; set the base URL to where it points";
            return Err(ChatError::refused(self.provider, status.as_u16(), message).into());
        }
        let headers = response.headers().clone();
        // Whatever of the reason can be read is better than none.
        let body = Answer::new(self, response).whole().await.unwrap_or_default();
        let body = self.harmless(String::from_utf8_lossy(&body).into_owned());
        let mut error = self.told(Some(status.as_u16()), Fault::of_refusal(&body));
        if let Some(after) = retry_after(&headers, SystemTime::now()) {
            error = error.with_retry_after(after);
        }
        let hopeless = headers.get("x-should-retry").is_some_and(|value| value == "false");
        Err(Failure { error, hopeless })
    }

    /// What a fault of an answer that began well means to the caller.
    pub(crate) fn fault(&self, fault: Fault) -> ChatError {
        self.told(None, fault)
    }

    /// Words a fault. What is secret is cut out before the rest is cut short, so that no half of it remains.
    fn told(&self, status: Option<u16>, fault: Fault) -> ChatError {
        let told = |text: String| beginning(&self.harmless(text)).to_owned();
        match fault {
            Fault::Refused { code, message } => {
                let error = ChatError::refused(self.provider, status, told(message));
                code.into_iter().fold(error, |error, code| error.with_code(told(code)))
            }
            Fault::Unreadable { problem, text } => {
                ChatError::unreadable(self.provider, format!("{problem} {}", excerpt(&self.harmless(text))))
            }
        }
    }

    fn broken(&self, error: reqwest::Error) -> ChatError {
        let (timed_out, error) = (error.is_timeout(), error.without_url());
        let message = format!("{} ({})", innermost(&error), self.settings.url());
        match timed_out {
            true => ChatError::timed_out(self.provider, message),
            false => ChatError::unreachable(self.provider, message),
        }
        .with_source(error)
    }

    /// Makes sure that a text gives neither the key away nor a header that may be one.
    fn harmless(&self, text: String) -> String {
        let headers = self.settings.headers.iter().filter_map(|(_, value)| ApiKey::new(value.trim()));
        self.settings.key.iter().cloned().chain(headers).fold(text, |text, secret| secret.cut_out_of(text))
    }
}
