//! How a provider is reached: [`ProviderSettings`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use opentool_http::{ApiKey, HttpConfig, RetryPolicy, Secrets, SetupError, Url, secret_header};
use reqwest::header::{HeaderName, HeaderValue};

use super::wire::{KeyHeader, WireFormat};
use crate::TypedAnswers;

/// Everything that can be set about the connection to a provider.
#[derive(Clone)]
pub(crate) struct ProviderSettings {
    /// Where requests go; an invalid address is reported by the first request.
    pub(crate) endpoint: Result<Url, String>,
    pub(crate) key: Option<ApiKey>,
    pub(crate) model: Option<String>,
    /// The user's headers, whose values may be secret.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) connect_timeout: Duration,
    pub(crate) response_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) retry: RetryPolicy,
    pub(crate) max_response_size: usize,
    pub(crate) ca_certificates: Option<Arc<[u8]>>,
    /// What the user says of the server; else the wire format knows.
    pub(crate) typed_answers: Option<TypedAnswers>,
    key_header: KeyHeader,
    /// The headers that the wire demands.
    wire_headers: &'static [(&'static str, &'static str)],
}

impl ProviderSettings {
    pub(crate) fn new<W: WireFormat>() -> Self {
        Self {
            endpoint: W::endpoint(W::BASE_URL),
            key: None,
            model: None,
            headers: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            // Without streaming, the first byte comes when the last word is written.
            response_timeout: Duration::from_secs(600),
            idle_timeout: Duration::from_secs(120),
            retry: RetryPolicy::default(),
            max_response_size: 32 << 20,
            ca_certificates: None,
            typed_answers: None,
            key_header: W::KEY_HEADER,
            wire_headers: W::HEADERS,
        }
    }

    /// How the HTTP exchange is set up.
    pub(crate) fn http(&self) -> Result<HttpConfig, SetupError> {
        let mut http = HttpConfig::new(concat!("opentool-chat/", env!("CARGO_PKG_VERSION")));
        http.connect_timeout = self.connect_timeout;
        http.response_timeout = Some(self.response_timeout);
        http.idle_timeout = Some(self.idle_timeout);
        http.max_response_size = self.max_response_size;
        http.ca_certificates = self.ca_certificates.clone();
        for (name, value) in self.wire_headers {
            http.headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some(key) = &self.key {
            let value = key.header(self.key_header.prefix()).map_err(|error| SetupError::new(error.to_string()))?;
            http.headers.insert(self.key_header.name(), value);
        }
        for (name, value) in &self.headers {
            let (name, value) = secret_header(name, value)?;
            http.headers.insert(name, value);
        }
        Ok(http)
    }

    /// What no error may repeat: the key, and the user's headers, each of which may be one.
    pub(crate) fn secrets(&self) -> Secrets {
        let headers = self.headers.iter().filter_map(|(_, value)| ApiKey::new(value.trim()));
        self.key.iter().cloned().chain(headers).collect()
    }

    /// The host and the port of the endpoint; an IPv6 address without its brackets.
    pub(crate) fn server(&self) -> Option<(&str, u16)> {
        let url = self.endpoint.as_ref().ok()?;
        Some((url.host_str()?.trim_matches(['[', ']']), url.port_or_known_default()?))
    }

    /// The endpoint as text, for errors and `Debug`.
    pub(crate) fn url(&self) -> &str {
        self.endpoint.as_ref().map_or_else(String::as_str, Url::as_str)
    }
}

/// Shows neither the key nor the values of headers.
impl fmt::Debug for ProviderSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ProviderSettings")
            .field("url", &self.url())
            .field("model", &self.model)
            .field("key", &self.key)
            .field("headers", &headers)
            .field("retries", &self.retry.retries)
            .finish_non_exhaustive()
    }
}
