//! The requests of the flow, on our own client: [`OAuthRequests`].

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use http::Method;
use opentool_http::{HttpClient, HttpConfig, HttpRequest, Url};
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest};

/// How many bytes an answer may have.
const MAX_ANSWER: usize = 1 << 20;

/// Sends the requests of the flow. None follows a redirect, since the answer would choose who gets a token.
pub(super) struct OAuthRequests {
    config: HttpConfig,
    /// Whether any server has answered, which the errors of the flow do not tell.
    was_answered: AtomicBool,
}

impl OAuthRequests {
    /// Takes the configuration of the requests to a server, of which the headers are for that server only.
    pub(super) fn new(of_server: &HttpConfig) -> Self {
        let mut config = HttpConfig::new(of_server.user_agent);
        config.ca_certificates = of_server.ca_certificates.clone();
        config.max_response_size = MAX_ANSWER;
        Self { config, was_answered: AtomicBool::new(false) }
    }

    pub(super) fn was_answered(&self) -> bool {
        self.was_answered.load(Relaxed)
    }

    async fn send(&self, asked: OAuthHttpRequest) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
        let (head, body) = asked.request.into_parts();
        let url = Url::parse(&head.uri.to_string())?;
        let mut config = self.config.clone();
        config.response_timeout = asked.timeout;
        config.idle_timeout = asked.timeout;
        let client = HttpClient::new(&config, &url)?;
        let request = match head.method {
            Method::GET => HttpRequest::get(url),
            Method::POST => HttpRequest::post(url).body(body),
            other => return Err(format!("the method {other} is not used").into()),
        };
        let headers = head.headers.into_iter().filter_map(|(name, value)| Some((name?, value)));
        let request = headers.fold(request, |request, (name, value)| request.header(name, value));
        let response = client.send(&request).await?;
        self.was_answered.store(true, Relaxed);
        let mut answer = http::Response::builder().status(response.status());
        if let Some(headers) = answer.headers_mut() {
            headers.clone_from(response.headers());
        }
        Ok(answer.body(response.bytes().await?)?)
    }
}

impl OAuthHttpClient for OAuthRequests {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(self.send(request))
    }
}
