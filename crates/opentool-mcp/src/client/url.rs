//! Where a server is that runs already: [`ServerUrl`].

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use opentool_http::{ApiKey, HttpConfig, Secrets, StreamLimit, Url, secret_header};

use super::error::McpError;
use super::token_file::TokenFile;

/// Headers that belong to the protocol.
const RESERVED: [&str; 5] = ["accept", "content-type", "host", "last-event-id", "content-length"];

/// The URL of an MCP server (Streamable HTTP), and what it takes to get in.
///
/// ```
/// use opentool_mcp::ServerUrl;
///
/// let url = ServerUrl::new("https://tools.example/mcp").api_key("s3cret").header("X-Team", "blue");
/// ```
#[derive(Clone)]
#[must_use = "a client connects to it"]
pub struct ServerUrl {
    url: String,
    key: Option<ApiKey>,
    headers: Vec<(String, String)>,
    ca_certificates: Option<Arc<[u8]>>,
    tokens: Option<TokenFile>,
}

/// A URL that can be used, and how.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) url: Url,
    pub(crate) config: HttpConfig,
    pub(crate) secrets: Secrets,
    pub(crate) tokens: Option<TokenFile>,
}

impl Target {
    /// The URL for which tokens are given: without its query, which may be secret.
    pub(crate) fn resource(&self) -> String {
        let mut url = self.url.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.into()
    }
}

/// Says whether what is sent to a URL stays between the two ends: by https, or because it does not leave this machine.
pub(crate) fn is_private(url: &Url) -> bool {
    match (url.scheme(), url.host_str()) {
        ("https", Some(_)) => true,
        ("http", Some(host)) => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        _ => false,
    }
}

impl ServerUrl {
    /// Takes a URL with `http://` or `https://`. What is wrong with it is said when a client connects.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), key: None, headers: Vec::new(), ca_certificates: None, tokens: None }
    }

    /// The URL as it was given, with what may be secret in it.
    pub fn as_str(&self) -> &str {
        &self.url
    }

    /// Sets the key that is sent as a bearer token.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.key = ApiKey::new(key);
        self
    }

    /// Adds a header to every request. Its value is never shown.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the certificates (PEM) that are trusted instead of the system's.
    pub fn ca_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.ca_certificates = Some(pem.into().into());
        self
    }

    /// Sets the file that has the tokens of a [login](crate::OAuthLogin). A file that is not there yet is no error: the server may
    /// let everybody in.
    ///
    /// They are sent over https, or to this machine, and only where neither a key nor a header `Authorization` is set.
    pub fn tokens(mut self, file: TokenFile) -> Self {
        self.tokens = Some(file);
        self
    }

    /// Sets the folder in which each server has a file with the [tokens](Self::tokens) of a login.
    pub fn tokens_in(self, folder: impl AsRef<Path>) -> Self {
        let file = TokenFile::in_folder(folder, &self.name());
        self.tokens(file)
    }

    /// What the server is called in messages: the URL without what may be secret in it.
    pub(crate) fn name(&self) -> String {
        let Ok(mut url) = Url::parse(self.url.trim()) else { return "the URL of an MCP server".to_owned() };
        url.set_query(None);
        url.set_fragment(None);
        // Both fail only where a URL can have neither.
        let _ = (url.set_username(""), url.set_password(None));
        url.into()
    }

    pub(crate) fn target(&self, max_message_size: usize) -> Result<Target, McpError> {
        let setup = |reason: String| McpError::Setup { reason };
        let invalid = |reason: &str| setup(format!("`{}` cannot be the URL of an MCP server: {reason}", self.name()));
        let url = Url::parse(self.url.trim()).map_err(|_| invalid("write https://HOST/PATH"))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(invalid("it does not begin with http:// or https:// and a host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("a user name or password has no place in it; give the key as the API key"));
        }
        let mut config = HttpConfig::new(concat!("opentool/", env!("CARGO_PKG_VERSION")));
        config.headers = self.header_map().map_err(setup)?;
        config.max_response_size = max_message_size;
        config.stream_limit = StreamLimit::PerFrame;
        config.ca_certificates = self.ca_certificates.clone();
        let values = self.headers.iter().filter_map(|(_, value)| ApiKey::new(value.as_str()));
        let query = url.query().and_then(ApiKey::new);
        let secrets = self.key.iter().cloned().chain(values).chain(query).collect();
        let takes_tokens = is_private(&url) && self.key.is_none() && !self.has_authorization();
        let tokens = self.tokens.clone().filter(|_| takes_tokens);
        Ok(Target { url, config, secrets, tokens })
    }

    fn has_authorization(&self) -> bool {
        self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(AUTHORIZATION.as_str()))
    }

    fn header_map(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let (name, value) = secret_header(name, value).map_err(|error| error.to_string())?;
            if RESERVED.contains(&name.as_str()) || name.as_str().starts_with("mcp-") {
                return Err(format!("the header `{name}` belongs to the protocol and cannot be set"));
            }
            headers.append(name, value);
        }
        if let Some(key) = &self.key {
            headers.insert(AUTHORIZATION, key.header("Bearer ").map_err(|error| error.to_string())?);
        }
        Ok(headers)
    }
}

impl fmt::Debug for ServerUrl {
    /// Shows neither the query nor the value of a header.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerUrl")
            .field("url", &self.name())
            .field("key", &self.key)
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn refusal(url: ServerUrl) -> String {
        url.target(1).err().unwrap().to_string()
    }

    #[test]
    fn a_url_that_cannot_be_used_is_refused_without_its_secrets() {
        for url in ["ftp://a.example/s3cret?k=s3cret", "http://me:s3cret@a.example/", "nonsense s3cret"] {
            let url = ServerUrl::new(url);
            assert!(!format!("{} {url:?}", url.name()).contains("k=s3cret"));
            let refusal = refusal(url);
            assert!(refusal.contains("cannot be the URL of an MCP server"), "{refusal}");
            assert!(!refusal.contains("k=s3cret") && !refusal.contains(":s3cret"), "{refusal}");
        }
    }

    #[test]
    fn headers_of_the_protocol_cannot_be_set() {
        let url = || ServerUrl::new("https://a.example/mcp?team=blue");
        assert!(refusal(url().header("Mcp-Session-Id", "x")).contains("belongs to the protocol"));
        assert!(refusal(url().header("Accept", "x")).contains("belongs to the protocol"));
        let target = url().api_key("k").header("X-A", "b").target(1).unwrap();
        assert_eq!(target.config.headers["authorization"], "Bearer k");
        assert_eq!((target.url.query(), &*target.resource()), (Some("team=blue"), "https://a.example/mcp"));
    }

    #[test]
    fn tokens_go_over_https_and_beside_no_other_key() {
        let takes_tokens = |url: ServerUrl| url.tokens(TokenFile::new("/nowhere")).target(1).unwrap().tokens.is_some();
        for url in ["https://a.example", "http://127.0.0.1:1", "http://[::1]:1/mcp", "http://localhost:1"] {
            assert!(takes_tokens(ServerUrl::new(url)), "{url}");
            assert!(!takes_tokens(ServerUrl::new(url).api_key("k")));
            assert!(!takes_tokens(ServerUrl::new(url).header("authorization", "Basic x")));
        }
        assert!(!takes_tokens(ServerUrl::new("http://a.example/mcp")));
    }
}
