//! Where the server is: the base URL, and the addresses of the routes below it.

use reqwest::Url;

use crate::ClientError;

/// The prefix that a server has where nobody says otherwise.
const PREFIX: &str = "/opentool";

/// The base URL of a server: http or https, without a trailing slash, without anything secret in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Address(Url);

impl Address {
    /// Reads a base URL; an empty path becomes the prefix, any other is taken as given.
    pub(crate) fn parse(text: &str) -> Result<Self, ClientError> {
        let text = text.trim();
        let invalid = |reason: &'static str| ClientError::InvalidUrl { url: without_secrets(text), reason };
        let mut url = Url::parse(text).map_err(|_| invalid("it is no URL; write http://HOST:PORT"))?;
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
        let path = match url.path().trim_end_matches('/') {
            "" => PREFIX.to_owned(),
            path => path.to_owned(),
        };
        url.set_path(&path);
        Ok(Self(url))
    }

    /// Returns the address of a route.
    pub(crate) fn route(&self, name: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}/{name}", self.0.path()));
        url
    }

    /// Says whether the server is spoken to in cipher.
    pub(crate) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// Cuts out of a text that should be a URL whatever may be a secret: the user information and the query.
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
    fn an_empty_path_becomes_the_prefix_and_any_other_is_taken_as_given() {
        for (given, call) in [
            ("http://127.0.0.1:9627", "http://127.0.0.1:9627/opentool/call"),
            ("http://127.0.0.1:9627/", "http://127.0.0.1:9627/opentool/call"),
            ("http://127.0.0.1:9627//", "http://127.0.0.1:9627/opentool/call"),
            ("https://tools.example/opentool", "https://tools.example/opentool/call"),
            ("https://tools.example/opentool/", "https://tools.example/opentool/call"),
            ("https://tools.example/a/b//", "https://tools.example/a/b/call"),
            (" http://[::1]:9627/api ", "http://[::1]:9627/api/call"),
        ] {
            assert_eq!(Address::parse(given).unwrap().route("call").as_str(), call, "{given}");
        }
    }

    #[test]
    fn what_is_no_base_url_is_refused_without_repeating_a_secret() {
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
            let error = Address::parse(given).unwrap_err();
            assert!(matches!(&error, ClientError::InvalidUrl { url, .. } if url == shown), "{given}: {error:?}");
            assert!(!format!("{error} {error:?}").contains("s3cret"));
        }
    }
}
