//! Which requests come from the page itself.
//!
//! A browser sends the session of the page with a request of another page on the same host, whatever its port, since cookies know no
//! ports. It also says where a request comes from, which no script can change: `Sec-Fetch-Site` (to loopback addresses and over
//! HTTPS), and `Origin` with every method but GET and HEAD.

use http::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use http::{Method, StatusCode};

use crate::error::ApiError;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses a request that does not come from the page.
pub(crate) fn check(method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
    let site = only(headers, &SEC_FETCH_SITE);
    if site.is_none_or(|site| site != "same-origin") {
        let hint = "browsers say where a request comes from on this machine and over HTTPS only: serve it so; programs call /opentool or /mcp";
        return Err(refusal("this path answers only the page itself").with_hint(hint));
    }
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    match origin(headers) {
        None if is_read && !headers.contains_key(ORIGIN) => Ok(()),
        Some(origin) if is_own(origin, headers) => Ok(()),
        _ => Err(refusal("the request comes from another origin than the page")),
    }
}

/// Says whether the page was loaded over HTTPS, as far as the request says it.
pub(crate) fn is_secure(headers: &HeaderMap) -> bool {
    origin(headers).is_some_and(|origin| origin.starts_with("https://"))
}

/// The host and the port that the request is addressed to.
pub(crate) fn authority(headers: &HeaderMap) -> Option<&str> {
    only(headers, &HOST)?.to_str().ok()
}

fn is_own(origin: &str, headers: &HeaderMap) -> bool {
    let own = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    own.zip(authority(headers)).is_some_and(|(own, authority)| own.eq_ignore_ascii_case(authority))
}

fn origin(headers: &HeaderMap) -> Option<&str> {
    only(headers, &ORIGIN)?.to_str().ok()
}

/// The value of a header that is there exactly once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

fn refusal(message: &'static str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, "wrong-origin", message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn admits(method: Method, given: &[(&'static str, &'static str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        check(&method, &headers).is_ok()
    }

    #[test]
    fn only_the_page_itself_is_admitted() {
        let (host, site) = (("host", "127.0.0.1:9627"), ("sec-fetch-site", "same-origin"));
        let own = ("origin", "http://127.0.0.1:9627");
        assert!(admits(Method::POST, &[host, site, own]));
        assert!(admits(Method::GET, &[host, site]) && admits(Method::GET, &[host, site, own]));
        assert!(admits(Method::DELETE, &[("host", "Tools.example"), site, ("origin", "https://tools.example")]));
        for wrong in [
            &[host, own][..],
            &[host, site],
            &[host, site, ("origin", "http://127.0.0.1:9628")],
            &[host, site, ("origin", "null")],
            &[host, site, own, ("origin", "http://evil.example")],
            &[host, ("sec-fetch-site", "same-site"), own],
            &[host, ("sec-fetch-site", "none"), own],
            &[host, site, ("sec-fetch-site", "cross-site"), own],
            &[site, own],
        ] {
            assert!(!admits(Method::POST, wrong), "{wrong:?}");
        }
        assert!(!admits(Method::GET, &[host]));
        assert!(!admits(Method::GET, &[host, site, ("origin", "http://evil.example")]));
    }
}
