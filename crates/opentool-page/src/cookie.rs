//! The cookie of a session.

use http::header::{COOKIE, HeaderMap, HeaderValue};

use crate::own_origin::{authority, is_secure};
use crate::secret::Secret;

/// How many cookies of one name are looked at: another server on the same host can set some too.
const MAX_COOKIES: usize = 8;

/// The name of the cookie. Browsers share the cookies of a host over all its ports, so the name has the port.
fn name(headers: &HeaderMap) -> String {
    let authority = authority(headers).unwrap_or_default();
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    match port.filter(|port| !port.is_empty() && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(port) => format!("opentool-ui-{port}"),
        None => "opentool-ui".to_owned(),
    }
}

/// Finds what a request says to be the secret of its session.
pub(crate) fn find(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let name = name(headers);
    let values = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
    let cookies = values.flat_map(|header| header.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    cookies.filter(move |(given, _)| *given == name).map(|(_, value)| value).take(MAX_COOKIES)
}

/// The header that gives a browser its session.
pub(crate) fn set(headers: &HeaderMap, path: &str, secret: &Secret) -> Option<HeaderValue> {
    let mut value = header(headers, path, secret.expose(), "").ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The header that takes it away.
pub(crate) fn remove(headers: &HeaderMap, path: &str) -> Option<HeaderValue> {
    header(headers, path, "", "; Max-Age=0").ok()
}

fn header(
    headers: &HeaderMap,
    path: &str,
    value: &str,
    more: &str,
) -> Result<HeaderValue, http::header::InvalidHeaderValue> {
    let secure = if is_secure(headers) { "; Secure" } else { "" };
    format!("{}={value}; Path={path}; HttpOnly; SameSite=Strict{secure}{more}", name(headers)).try_into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use http::header::{HOST, ORIGIN};

    use super::*;

    fn headers(host: &'static str, cookies: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static(host));
        for cookie in cookies {
            headers.append(COOKIE, HeaderValue::from_static(cookie));
        }
        headers
    }

    #[test]
    fn the_cookie_of_another_port_is_another_cookie() {
        let headers =
            headers("127.0.0.1:9627", &["a=1; opentool-ui-9628=other; opentool-ui-9627=own", "opentool-ui-9627=b"]);
        assert_eq!(find(&headers).collect::<Vec<_>>(), ["own", "b"]);
    }

    #[test]
    fn scripts_and_other_sites_do_not_get_the_cookie() {
        let secret = Secret::new().unwrap();
        let mut headers = headers("tools.example", &[]);
        headers.insert(ORIGIN, HeaderValue::from_static("https://tools.example"));
        let set = set(&headers, "/ui", &secret).unwrap();
        let expected = format!("opentool-ui={}; Path=/ui; HttpOnly; SameSite=Strict; Secure", secret.expose());
        assert_eq!(set.to_str().unwrap(), expected);
        assert!(set.is_sensitive());
    }
}
