//! Which web pages may call: [`AllowedOrigins`], and CORS where it is on.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use http::request::Parts;
use http::{Method, StatusCode};

use super::headers::{HeaderValues, KnownHeader, RequestHeaders};
use super::refusal::Refusal;
use super::response::{HttpResponse, empty};

/// Says whether a request comes from a page of the host that it is addressed to.
pub(crate) fn is_same_origin(headers: &RequestHeaders<'_>) -> bool {
    let (Some(origin), Some(host)) = (headers.get(KnownHeader::Origin).only(), headers.get(KnownHeader::Host).first())
    else {
        return false;
    };
    let Ok(origin) = origin.to_str() else { return false };
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.is_some_and(|authority| authority.as_bytes().eq_ignore_ascii_case(host.as_bytes()))
}

/// The origins whose pages may call, and whether they may read the answers (CORS).
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowedOrigins {
    pub(crate) listed: Vec<String>,
    pub(crate) cors: bool,
}

impl AllowedOrigins {
    pub(crate) fn check(&self, origin: HeaderValues<'_>) -> Result<(), Refusal> {
        let refused = origin.all().find(|origin| !self.allows(origin));
        match refused {
            None => Ok(()),
            Some(origin) => Err(Refusal::not_allowed("origin", origin.to_str().unwrap_or_default())),
        }
    }

    fn allows(&self, origin: &HeaderValue) -> bool {
        self.listed.iter().any(|listed| listed == "*" || listed.as_bytes().eq_ignore_ascii_case(origin.as_bytes()))
    }

    /// Answers the preflight request of a browser.
    pub(crate) fn preflight(&self, parts: &Parts) -> Option<HttpResponse> {
        let is_preflight = self.cors
            && parts.method == Method::OPTIONS
            && parts.headers.contains_key(ORIGIN)
            && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        is_preflight.then(|| {
            let mut response = empty(StatusCode::NO_CONTENT);
            let headers = response.headers_mut();
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
            // The origin is allowed, and a mounted frontend may read headers of its own.
            let asked = parts.headers.get(ACCESS_CONTROL_REQUEST_HEADERS).cloned();
            let usual = || HeaderValue::from_static("authorization, content-type, traceparent, tracestate");
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, asked.unwrap_or_else(usual));
            headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
            response
        })
    }

    /// Lets the page that sent the request read the response.
    pub(crate) fn add_cors_headers(&self, request: &HeaderMap, response: &mut HttpResponse) {
        if self.cors
            && let Some(origin) = request.get(ORIGIN)
            && self.allows(origin)
        {
            response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            response.headers_mut().insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
            response.headers_mut().append(VARY, HeaderValue::from_static("Origin"));
        }
    }
}
