//! Who may speak to the server at all: the checks of `Host` and `Origin`, and CORS where it is asked for.
//!
//! They keep a web page in somebody's browser from calling a tool server on that somebody's machine.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_METHOD, HOST, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use http::request::Parts;
use http::{Method, StatusCode};

use crate::answer::{Answer, Fault, JSON, with_type};

/// How much of a refused host or origin is told back.
const LONGEST: usize = 200;

/// The names under which a machine reaches itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Which hosts a request may be addressed to.
#[derive(Clone, Debug)]
pub(crate) enum Hosts {
    Any,
    Listed(Vec<HostPattern>),
}

/// A host, on any port or on one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPattern {
    name: String,
    port: Option<String>,
}

impl HostPattern {
    pub(crate) fn new(text: &str) -> Self {
        let (name, port) = split(text.trim());
        Self { name: name.to_ascii_lowercase(), port: port.map(str::to_owned) }
    }

    fn matches(&self, name: &str, port: Option<&str>) -> bool {
        self.name.eq_ignore_ascii_case(name) && (self.port.is_none() || self.port.as_deref() == port)
    }
}

impl Hosts {
    /// The names of this machine for itself, and what else is listed; `*` stands for every host.
    pub(crate) fn listed(others: &[String]) -> Self {
        if others.iter().any(|host| host == "*") {
            return Self::Any;
        }
        Self::Listed(LOOPBACK.iter().copied().chain(others.iter().map(String::as_str)).map(HostPattern::new).collect())
    }

    pub(crate) fn check(&self, parts: &Parts) -> Result<(), Fault> {
        let Self::Listed(listed) = self else { return Ok(()) };
        let mut values = parts.headers.get_all(HOST).iter();
        let header = values.next().map(HeaderValue::as_bytes).unwrap_or_default();
        let twice = values.next().is_some();
        // Where the request line names a host, that one counts.
        let host = match parts.uri.authority() {
            Some(authority) => authority.as_str(),
            None => std::str::from_utf8(header).unwrap_or_default(),
        };
        let (name, port) = split(host);
        if !twice && listed.iter().any(|pattern| pattern.matches(name, port)) {
            return Ok(());
        }
        let host = shortened(host);
        Err(Fault::forbidden(format!("host `{host}` is not allowed; allow it with --allowed-host {host}")))
    }
}

/// Which origins a browser's request may come from, and whether their pages may read the answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    pub(crate) listed: Vec<String>,
    pub(crate) cors: bool,
}

impl Origins {
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let refused = headers.get_all(ORIGIN).iter().find(|origin| !self.admits(origin));
        match refused {
            None => Ok(()),
            Some(origin) => {
                let origin = shortened(origin.to_str().unwrap_or_default());
                Err(Fault::forbidden(format!(
                    "origin `{origin}` is not allowed; allow it with --allowed-origin {origin}"
                )))
            }
        }
    }

    fn admits(&self, origin: &HeaderValue) -> bool {
        self.listed.iter().any(|listed| listed == "*" || listed.as_bytes().eq_ignore_ascii_case(origin.as_bytes()))
    }

    /// Answers the question that a browser asks before it sends a request of a page.
    pub(crate) fn preflight(&self, parts: &Parts) -> Option<Answer> {
        let asks = self.cors
            && parts.method == Method::OPTIONS
            && parts.headers.contains_key(ORIGIN)
            && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        asks.then(|| {
            let mut answer = with_type(StatusCode::NO_CONTENT, JSON, "");
            let headers = answer.headers_mut();
            headers.clear();
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
            headers.insert(
                ACCESS_CONTROL_ALLOW_HEADERS,
                HeaderValue::from_static("authorization, content-type, traceparent, tracestate"),
            );
            headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
            answer
        })
    }

    /// Lets the page that asked read the answer.
    pub(crate) fn permit(&self, request: Option<HeaderValue>, answer: &mut Answer) {
        if let Some(origin) = request
            && self.cors
            && self.admits(&origin)
        {
            answer.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            answer.headers_mut().append(VARY, HeaderValue::from_static("Origin"));
        }
    }
}

/// Takes the port from a host; an IPv6 address keeps its brackets, a name loses the dot of its root.
fn split(host: &str) -> (&str, Option<&str>) {
    let (name, port) = match host.rfind(':') {
        Some(colon) if !host[colon..].contains(']') => (&host[..colon], Some(&host[colon + 1..])),
        _ => (host, None),
    };
    (name.strip_suffix('.').unwrap_or(name), port)
}

fn shortened(text: &str) -> &str {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn admits(hosts: &Hosts, host: &str) -> bool {
        let (parts, ()) = http::Request::builder().header(HOST, host).body(()).unwrap().into_parts();
        hosts.check(&parts).is_ok()
    }

    #[test]
    fn a_listed_host_is_admitted_with_any_port_unless_it_names_one() {
        let hosts = Hosts::listed(&["Tools.example".to_owned(), "api.example:8443".to_owned()]);
        for host in [
            "localhost",
            "LOCALHOST:9627",
            "127.0.0.1:1",
            "[::1]",
            "[::1]:9627",
            "tools.example.:80",
            "api.example:8443",
        ] {
            assert!(admits(&hosts, host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "api.example",
            "api.example:443",
            "",
            "[::2]:9627",
            "127.0.0.1.evil",
        ] {
            assert!(!admits(&hosts, host), "{host}");
        }
        assert!(admits(&Hosts::listed(&["*".to_owned()]), "evil.example"));
    }
}
