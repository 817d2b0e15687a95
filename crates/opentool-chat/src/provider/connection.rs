//! The connection to a provider: requests, repeated if that may help, and errors in the words of [`ChatError`].

use std::sync::OnceLock;

use opentool_http::{FailedAttempt, HttpClient, HttpError, HttpRequest, HttpResponse, Secrets, SetupError, Url};

use super::interface::permit_request;
use super::model_info::ModelInfo;
use super::settings::ProviderSettings;
use super::wire::{WireError, WireFormat, excerpt, retry_delay, shortened};
use crate::{Cause, ChatError, ChatResponse};

/// The connection to a provider; its HTTP client is made when it is first needed.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) provider: &'static str,
    pub(crate) settings: ProviderSettings,
    http: OnceLock<Result<HttpClient, SetupError>>,
    secrets: Secrets,
}

impl Connection {
    pub(crate) fn new<W: WireFormat>() -> Self {
        Self {
            provider: W::NAME,
            settings: ProviderSettings::new::<W>(),
            http: OnceLock::new(),
            secrets: Secrets::default(),
        }
    }

    /// Changes the settings.
    pub(crate) fn set(&mut self, change: impl FnOnce(&mut ProviderSettings)) {
        change(&mut self.settings);
        self.secrets = self.settings.secrets();
        self.http = OnceLock::new();
    }

    /// Where requests go.
    pub(crate) fn endpoint(&self) -> Result<&Url, ChatError> {
        self.settings.endpoint.as_ref().map_err(ChatError::setup)
    }

    /// Sends a request until an answer begins, or no further attempt makes sense.
    pub(crate) async fn send(&self, request: HttpRequest) -> Result<HttpResponse, ChatError> {
        permit_request(self.provider)?;
        let endpoint = self.endpoint()?;
        let http = self.http.get_or_init(|| HttpClient::new(&self.settings.http()?, endpoint));
        let http = http.as_ref().map_err(|error| ChatError::setup(error.to_string()))?;
        self.settings.retry.run(None, || self.attempt(http, &request)).await
    }

    async fn attempt(
        &self,
        http: &HttpClient,
        request: &HttpRequest,
    ) -> Result<HttpResponse, FailedAttempt<ChatError>> {
        let response = http.send(request).await.map_err(|error| failed(self.http_error(error)))?;
        if response.is_success() {
            return Ok(response);
        }
        let status = response.status();
        if status / 100 == 3 {
            let message =
                "it redirects to another address, and redirects are not followed; set the base URL to that address";
            return Err(FailedAttempt::last(ChatError::refused(self.provider, status, message)));
        }
        let mut retry_after = response.retry_after();
        let must_not_retry = response.headers().get("x-should-retry").is_some_and(|value| value == "false");
        // A reason that can only be read in part is better than none.
        let reason = match response.bytes().await {
            Err(error @ HttpError::Encoded { .. }) => {
                WireError::reported(None, &format!("the reason cannot be read: {error}"))
            }
            body => {
                let body = String::from_utf8_lossy(&body.unwrap_or_default()).into_owned();
                retry_after = retry_after.or_else(|| retry_delay(&body));
                WireError::from_error_body(&self.secrets.redact(body))
            }
        };
        let error = self.error(Some(status), reason);
        let error = retry_after.into_iter().fold(error, ChatError::with_retry_after);
        Err(if must_not_retry { FailedAttempt::last(error) } else { failed(error) })
    }

    /// Reads a list of models.
    pub(crate) async fn read_models<W: WireFormat>(&self, response: HttpResponse) -> Result<Vec<ModelInfo>, ChatError> {
        let body = response.bytes().await.map_err(|error| self.http_error(error))?;
        W::read_models(&String::from_utf8_lossy(&body)).map_err(|error| self.wire_error(error))
    }

    /// Reads a whole answer.
    pub(crate) async fn read<W: WireFormat>(&self, response: HttpResponse) -> Result<ChatResponse, ChatError> {
        let body = response.bytes().await.map_err(|error| self.http_error(error))?;
        let text = String::from_utf8_lossy(&body);
        W::read_response(text.trim_start_matches('\u{feff}').trim()).map_err(|error| self.wire_error(error))
    }

    /// The error for an answer that began well and cannot be used.
    pub(crate) fn wire_error(&self, error: WireError) -> ChatError {
        self.error(None, error)
    }

    /// Secrets are removed before a text is shortened, so that no half of one remains.
    fn error(&self, status: Option<u16>, error: WireError) -> ChatError {
        let shown = |text: String| shortened(&self.secrets.redact(text)).to_owned();
        match error {
            WireError::Reported { code, message } => {
                let error = ChatError::refused(self.provider, status, shown(message));
                code.into_iter().fold(error, |error, code| error.with_code(shown(code)))
            }
            WireError::Unreadable { problem, text } => {
                ChatError::unreadable(self.provider, format!("{problem} {}", excerpt(&self.secrets.redact(text))))
            }
        }
    }

    pub(crate) fn http_error(&self, error: HttpError) -> ChatError {
        match error {
            HttpError::Unreachable { reason, timed_out, source, .. } => {
                let message = format!("{reason} ({})", self.settings.url());
                match timed_out {
                    true => ChatError::timed_out(self.provider, message),
                    false => ChatError::unreachable(self.provider, message),
                }
                .with_source(source)
            }
            HttpError::Interrupted { reason, .. } => ChatError::interrupted(self.provider, reason),
            HttpError::TooLarge { .. } | HttpError::Encoded { .. } => {
                ChatError::unreadable(self.provider, error.to_string())
            }
            HttpError::NoResponse { .. } => ChatError::timed_out(self.provider, error.to_string()),
            // It was reached, and had begun to answer.
            HttpError::Idle { .. } => ChatError::interrupted(self.provider, error.to_string()),
            other => ChatError::unreachable(self.provider, other.to_string()),
        }
    }
}

/// An attempt that failed, and whether waiting can help.
fn failed(error: ChatError) -> FailedAttempt<ChatError> {
    let hopeless = match error.cause() {
        // A second attempt would take as long.
        Cause::Unreachable { timed_out: true, .. } => true,
        Cause::Refused { code, .. } => code.as_deref() == Some("insufficient_quota"),
        _ => false,
    };
    FailedAttempt {
        retryable: error.is_retryable() && !hopeless,
        // 529 is Anthropic's word for the same.
        rate_limited: matches!(error.status(), Some(429 | 529)),
        retry_after: error.retry_after(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_waiting_does_not_fix_is_not_retryable() {
        for error in [
            ChatError::refused("openai", 401, "who are you?"),
            ChatError::refused("openai", 429, "pay first").with_code("insufficient_quota"),
            ChatError::timed_out("openai", "no answer within 600s"),
            ChatError::unreadable("openai", "HTML"),
        ] {
            assert!(!failed(error).retryable);
        }
        for error in [ChatError::refused("openai", 503, "busy"), ChatError::unreachable("openai", "refused")] {
            let failed = failed(error);
            assert!(failed.retryable && !failed.rate_limited);
        }
        let failed = failed(ChatError::refused("openai", 429, "slow down"));
        assert!(failed.retryable && failed.rate_limited);
    }
}
