//! What the API answers where it refuses: [`ApiError`].

use std::borrow::Cow;
use std::time::Duration;

use http::StatusCode;
use http::header::{ALLOW, HeaderValue, RETRY_AFTER};
use opentool_server::FrontendResponse;
use serde::Serialize;

/// Why a request to the API is refused.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    body: ErrorBody,
    allow: Option<&'static str>,
    retry_after: Option<Duration>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorBody {
    error: ErrorWords,
    /// Whether one may sign in by an API key, where a session is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_sign_in: Option<bool>,
}

#[derive(Debug, Serialize)]
struct ErrorWords {
    kind: &'static str,
    message: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<Cow<'static, str>>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, kind: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        let error = ErrorWords { kind, message: message.into(), hint: None };
        Self { status, body: ErrorBody { error, key_sign_in: None }, allow: None, retry_after: None }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.body.error.hint = Some(hint.into());
        self
    }

    pub(crate) fn not_signed_in(key_sign_in: bool) -> Self {
        let hint = if key_sign_in {
            "open the address that the server printed at its terminal, or sign in by an API key"
        } else {
            "open the address that the server printed at its terminal; it is good for one sign-in"
        };
        let mut error =
            Self::new(StatusCode::UNAUTHORIZED, "not-signed-in", "this browser is not signed in").with_hint(hint);
        error.body.key_sign_in = Some(key_sign_in);
        error
    }

    pub(crate) fn too_many_attempts(wait: Duration) -> Self {
        let message = format!("too many sign-ins failed: try again in {} s", wait.as_secs().max(1));
        let error = Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many-attempts", message);
        Self { retry_after: Some(wait), ..error }
    }

    pub(crate) fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid-request", message)
    }

    pub(crate) fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", message)
    }

    pub(crate) fn conflict(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    pub(crate) fn busy(message: impl Into<Cow<'static, str>>) -> Self {
        let error = Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message);
        Self { retry_after: Some(Duration::from_secs(1)), ..error }
    }

    pub(crate) fn unavailable(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
    }

    pub(crate) fn method_not_allowed(allow: &'static str) -> Self {
        let error =
            Self::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", format!("this path takes {allow} only"));
        Self { allow: Some(allow), ..error }
    }

    pub(crate) fn into_response(self) -> FrontendResponse {
        // It holds texts and a boolean, which can always be written.
        let body = serde_json::to_vec(&self.body).unwrap_or_default();
        let mut response = FrontendResponse::json(self.status, body);
        if let Some(methods) = self.allow {
            response = response.with_header(ALLOW, HeaderValue::from_static(methods));
        }
        if let Some(wait) = self.retry_after {
            response = response.with_header(RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
        }
        response
    }
}
