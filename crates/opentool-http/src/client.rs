//! Sending requests: [`HttpClient`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use tokio::time::timeout;

use crate::error::{HttpError, SetupError};
use crate::response::{BodyLimits, HttpResponse, StreamLimit};
use crate::setup;
use crate::url::is_readable_on_the_way;

/// How requests are sent and responses are read.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpConfig {
    /// The name under which the client introduces itself.
    pub user_agent: &'static str,
    /// The headers of every request.
    pub headers: HeaderMap,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long the head of a response may take; no limit of its own when none.
    pub response_timeout: Option<Duration>,
    /// How long a response that has begun may be silent; no limit of its own when none.
    pub idle_timeout: Option<Duration>,
    /// How many bytes a body may have.
    pub max_response_size: usize,
    /// What the limit means for a stream.
    pub stream_limit: StreamLimit,
    /// How long a connection that is not in use is kept.
    pub pool_idle_timeout: Duration,
    /// How many connections that are not in use are kept.
    pub max_idle_connections: usize,
    /// The certificates (PEM) that are trusted instead of the system's.
    pub ca_certificates: Option<Arc<[u8]>>,
}

impl HttpConfig {
    /// Makes a configuration with defaults: 10 s to connect, bodies of at most 32 MiB, no other time limits.
    pub fn new(user_agent: &'static str) -> Self {
        Self {
            user_agent,
            headers: HeaderMap::new(),
            connect_timeout: Duration::from_secs(10),
            response_timeout: None,
            idle_timeout: None,
            max_response_size: 32 << 20,
            stream_limit: StreamLimit::Total,
            pool_idle_timeout: Duration::from_secs(90),
            max_idle_connections: usize::MAX,
            ca_certificates: None,
        }
    }
}

impl fmt::Debug for HttpConfig {
    /// Shows no value of a header, since any of them may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpConfig")
            .field("user_agent", &self.user_agent)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("connect_timeout", &self.connect_timeout)
            .field("response_timeout", &self.response_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("max_response_size", &self.max_response_size)
            .finish_non_exhaustive()
    }
}

/// A request that can be sent several times.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Bytes>,
}

impl HttpRequest {
    /// Makes a GET request.
    pub fn get(url: Url) -> Self {
        Self { method: Method::GET, url, headers: HeaderMap::new(), body: None }
    }

    /// Makes a POST request without a body.
    pub fn post(url: Url) -> Self {
        Self { method: Method::POST, ..Self::get(url) }
    }

    /// Makes a DELETE request.
    pub fn delete(url: Url) -> Self {
        Self { method: Method::DELETE, ..Self::get(url) }
    }

    /// Sets a JSON body.
    #[must_use]
    pub fn json(self, body: impl Into<Bytes>) -> Self {
        self.body(body).header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
    }

    /// Sets a body, whose content type is one of the headers.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sets a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }
}

/// A client for the servers behind one base URL. It follows no redirects and repeats nothing by itself: see
/// [`RetryPolicy`](crate::RetryPolicy).
#[derive(Clone, Debug)]
pub struct HttpClient {
    client: reqwest::Client,
    headers: HeaderMap,
    response_timeout: Option<Duration>,
    limits: BodyLimits,
}

impl HttpClient {
    /// Makes a client for the servers behind a base URL.
    ///
    /// A key in its headers that would travel over plain HTTP to another machine, where others on the way can read it, is
    /// a WARN event, target `opentool::http`.
    ///
    /// # Errors
    ///
    /// When the certificates cannot be used, or TLS is not available.
    pub fn new(config: &HttpConfig, url: &Url) -> Result<Self, SetupError> {
        if config.headers.values().any(HeaderValue::is_sensitive) && is_readable_on_the_way(url) {
            let server = url.origin().ascii_serialization();
            tracing::warn!(
                target: "opentool::http",
                "the API key goes to {server} over plain HTTP, where others on the network can read it: use https"
            );
        }
        let client = setup::builder(config.user_agent, url, config.ca_certificates.as_deref())?
            .connect_timeout(config.connect_timeout)
            .pool_idle_timeout(config.pool_idle_timeout)
            .pool_max_idle_per_host(config.max_idle_connections)
            .build()
            .map_err(SetupError::unbuildable)?;
        let limits = BodyLimits {
            idle_timeout: config.idle_timeout,
            max_size: config.max_response_size,
            stream: config.stream_limit,
        };
        let mut headers = config.headers.clone();
        // Without this header a server may choose any encoding.
        headers.entry(ACCEPT_ENCODING).or_insert(HeaderValue::from_static("identity"));
        Ok(Self { client, headers, response_timeout: config.response_timeout, limits })
    }

    /// Sends a request once; the body of the response is still to come.
    ///
    /// # Errors
    ///
    /// When no response begins. A response with an error status is a response.
    pub async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, HttpError> {
        let mut builder = self
            .client
            .request(request.method.clone(), request.url.clone())
            .headers(self.headers.clone())
            .headers(request.headers.clone());
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        let sent = match self.response_timeout {
            Some(after) => timeout(after, builder.send()).await.map_err(|_| HttpError::NoResponse { after })?,
            None => builder.send().await,
        };
        let response = sent.map_err(HttpError::unreachable)?;
        let (path, status) = (request.url.path(), response.status().as_u16());
        tracing::debug!(target: "opentool::http", path, status, "the server answered");
        Ok(HttpResponse::new(response, self.limits))
    }
}
