//! The base URL of a server: [`base_url`].

use std::net::IpAddr;

use reqwest::Url;

/// A text that cannot be the base URL of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{url}` cannot be the address of a server: {reason}")]
pub struct InvalidUrl {
    /// The text, without the parts that may be secret.
    pub url: String,
    /// What is wrong with it, and what to write instead.
    pub reason: &'static str,
}

/// Reads a base URL: http or https, without a trailing slash, without a user name, password or query that may be secret.
///
/// # Errors
///
/// When the text is not such a URL.
pub fn base_url(text: &str) -> Result<Url, InvalidUrl> {
    let text = text.trim();
    let invalid = |reason| InvalidUrl { url: without_secrets(text), reason };
    let mut url = Url::parse(text).map_err(|_| invalid("it is no URL; write https://HOST or http://HOST:PORT"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid("it does not begin with http:// or https://"));
    }
    if !url.has_host() {
        return Err(invalid("it names no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("a user name or password has no place in it; give the key as the API key"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid("a base URL has no `?` or `#`"));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

/// Says whether what is sent to a URL leaves this machine without encryption.
pub(crate) fn is_readable_on_the_way(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    // RFC 6761: `localhost` and the names below it are this machine.
    let is_local_name = || host == "localhost" || host.ends_with(".localhost");
    url.scheme() == "http" && !address.map_or_else(|_| is_local_name(), |address| address.is_loopback())
}

/// Removes from a text that should be a URL what may be secret: the user information and the query.
fn without_secrets(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = text.split_once("//").unwrap_or(("", text));
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    if scheme.is_empty() { rest.to_owned() } else { format!("{scheme}//{rest}") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_invalid_base_url_is_refused_without_repeating_a_secret() {
        for (given, shown) in [
            ("", ""),
            ("127.0.0.1:9627", "127.0.0.1:9627"),
            ("localhost:9627", "localhost:9627"),
            ("ftp://tools.example", "ftp://tools.example"),
            ("http://me:s3cret@tools.example/x", "http://tools.example/x"),
            ("http://s3cret@tools.example", "http://tools.example"),
            ("http://me:s3cret@ho st", "http://ho st"),
            ("http://tools.example/?key=s3cret", "http://tools.example/"),
            ("http://tools.example/#s3cret", "http://tools.example/"),
        ] {
            let error = base_url(given).unwrap_err();
            assert_eq!(error.url, shown, "{given}");
            assert!(!format!("{error} {error:?}").contains("s3cret"));
        }
    }

    #[test]
    fn plain_http_to_another_machine_can_be_read_on_the_way() {
        for url in ["http://10.0.0.7:9627", "http://tools.example", "http://[2001:db8::1]/", "http://localhost.example"]
        {
            assert!(is_readable_on_the_way(&base_url(url).unwrap()), "{url}");
        }
        for url in ["https://10.0.0.7", "http://127.0.0.1:1", "http://127.8.0.1", "http://[::1]:1", "http://LOCALHOST"]
        {
            assert!(!is_readable_on_the_way(&base_url(url).unwrap()), "{url}");
        }
    }

    #[test]
    fn a_trailing_slash_makes_no_difference() {
        assert_eq!(base_url(" https://models.example/v1/ ").unwrap(), base_url("https://models.example/v1").unwrap());
    }
}
