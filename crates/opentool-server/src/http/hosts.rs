//! Which hosts a request may be addressed to: [`AllowedHosts`].
//!
//! A web page that rebinds its own name to this machine sends that name as `Host`, so the check keeps it from calling a tool
//! server on the machine of its reader.

use http::Uri;
use http::header::HeaderValue;

use super::headers::HeaderValues;
use super::refusal::Refusal;

/// The names that reach this machine from itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The hosts that a request may be addressed to.
#[derive(Clone, Debug)]
pub(crate) enum AllowedHosts {
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

    /// Says whether a host is this one, with or without the dot of its root, where `is_same` compares names.
    fn matches(&self, host: &[u8], is_same: fn(&[u8], &[u8]) -> bool) -> bool {
        let Some((name, rest)) = host.split_at_checked(self.name.len()) else { return false };
        if !is_same(name, self.name.as_bytes()) {
            return false;
        }
        match rest.strip_prefix(b".").unwrap_or(rest) {
            [] => self.port.is_none(),
            [b':', port @ ..] if port.iter().all(u8::is_ascii_digit) => {
                self.port.as_ref().is_none_or(|only| only.as_bytes() == port)
            }
            _ => false,
        }
    }
}

impl AllowedHosts {
    /// Allows the loopback names and the listed hosts; `*` stands for every host.
    pub(crate) fn listed(others: &[String]) -> Self {
        if others.iter().any(|host| host == "*") {
            return Self::Any;
        }
        Self::Listed(LOOPBACK.iter().copied().chain(others.iter().map(String::as_str)).map(HostPattern::new).collect())
    }

    /// Says whether a host must be listed, so that one that passed the check is known to reach this server only.
    pub(crate) fn are_listed(&self) -> bool {
        matches!(self, Self::Listed(_))
    }

    pub(crate) fn check(&self, uri: &Uri, header: HeaderValues<'_>) -> Result<(), Refusal> {
        let Self::Listed(listed) = self else { return Ok(()) };
        let twice = header.is_repeated();
        let header = header.first().map(HeaderValue::as_bytes).unwrap_or_default();
        // Where the request line names a host, that one counts.
        let host = uri.authority().map_or(header, |authority| authority.as_str().as_bytes());
        let is_listed = |is_same| listed.iter().any(|pattern| pattern.matches(host, is_same));
        // Nearly all clients write it in lower case, and comparing the bytes costs a fifth of the other (`scripts/bench http`).
        if !twice && (is_listed(<[u8]>::eq) || is_listed(<[u8]>::eq_ignore_ascii_case)) {
            return Ok(());
        }
        Err(Refusal::not_allowed("host", std::str::from_utf8(host).unwrap_or_default()))
    }
}

/// Splits off the port; an IPv6 address keeps its brackets, a name loses the dot of its root.
fn split(host: &str) -> (&str, Option<&str>) {
    let mark = host.bytes().rposition(|byte| matches!(byte, b':' | b']'));
    let (name, port) = match mark {
        Some(colon) if host.as_bytes()[colon] == b':' => (&host[..colon], Some(&host[colon + 1..])),
        _ => (host, None),
    };
    (name.strip_suffix('.').unwrap_or(name), port)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use http::header::HOST;

    use super::super::headers::{KnownHeader, RequestHeaders};
    use super::*;

    fn admits(hosts: &AllowedHosts, host: &str) -> bool {
        let (parts, ()) = http::Request::builder().header(HOST, host).body(()).unwrap().into_parts();
        hosts.check(&parts.uri, RequestHeaders::new(&parts.headers).get(KnownHeader::Host)).is_ok()
    }

    #[test]
    fn a_listed_host_allows_any_port_unless_it_names_one() {
        let hosts = AllowedHosts::listed(&["Tools.example".to_owned(), "api.example:8443".to_owned()]);
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
            "localhost:80.evil.example",
            "127.0.0.1:80@evil.example",
            "localhost:+80",
        ] {
            assert!(!admits(&hosts, host), "{host}");
        }
        assert!(admits(&AllowedHosts::listed(&["*".to_owned()]), "evil.example"));
    }
}
