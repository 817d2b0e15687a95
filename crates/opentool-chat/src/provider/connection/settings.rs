//! How the way to a provider is set up.

use std::fmt;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderName};

use super::ApiKey;

/// Everything that can be chosen about the way to a provider.
#[derive(Clone)]
pub(crate) struct Settings {
    /// Where requests go; what is wrong with the address is told when it is needed.
    pub(crate) endpoint: Result<Url, String>,
    pub(crate) key: Option<ApiKey>,
    pub(crate) key_header: KeyHeader,
    pub(crate) model: Option<String>,
    /// What the wire itself wants to see.
    pub(crate) wire_header: Option<(&'static str, &'static str)>,
    /// What the user adds, which may be secret.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) connect_timeout: Duration,
    pub(crate) response_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) retries: u32,
    pub(crate) backoff: Duration,
    pub(crate) longest_wait: Duration,
    pub(crate) max_response_size: usize,
    pub(crate) ca_certificates: Option<Vec<u8>>,
}

/// How a provider wants the key.
#[derive(Clone, Copy)]
pub(crate) enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// `x-api-key: KEY`.
    XApiKey,
}

impl KeyHeader {
    pub(crate) fn name(self) -> HeaderName {
        match self {
            Self::Bearer => AUTHORIZATION,
            Self::XApiKey => HeaderName::from_static("x-api-key"),
        }
    }

    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Bearer => "Bearer ",
            Self::XApiKey => "",
        }
    }
}

impl Settings {
    pub(crate) fn new(endpoint: Result<Url, String>, key_header: KeyHeader) -> Self {
        Self {
            endpoint,
            key: None,
            key_header,
            model: None,
            wire_header: None,
            headers: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            // Without streaming, the first byte comes when the last word is written.
            response_timeout: Duration::from_secs(600),
            idle_timeout: Duration::from_secs(120),
            retries: 2,
            backoff: Duration::from_millis(500),
            longest_wait: Duration::from_secs(60),
            max_response_size: 32 << 20,
            ca_certificates: None,
        }
    }

    /// The host and the port of the endpoint; an IPv6 address without its brackets.
    pub(crate) fn server(&self) -> Option<(&str, u16)> {
        let url = self.endpoint.as_ref().ok()?;
        Some((url.host_str()?.trim_matches(['[', ']']), url.port_or_known_default()?))
    }

    /// The endpoint in words, for errors and `Debug`.
    pub(crate) fn url(&self) -> &str {
        self.endpoint.as_ref().map_or_else(String::as_str, Url::as_str)
    }
}

/// Reads where a provider is.
pub(crate) fn base_url(text: &str) -> Result<Url, String> {
    opentool_http::base_url(text)
        .map_err(|error| format!("`{}` cannot be the address of a provider: {}", error.url, error.reason))
}

/// Neither the key nor the values of headers, which may be secret too.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Settings")
            .field("url", &self.url())
            .field("model", &self.model)
            .field("key", &self.key)
            .field("headers", &headers)
            .field("retries", &self.retries)
            .finish_non_exhaustive()
    }
}
