//! The base URL of a server and the addresses of its routes.

use opentool_http::{InvalidUrl, base_url};
use reqwest::Url;

use crate::error::ClientError;

/// The prefix of a server whose base URL has no path.
const PREFIX: &str = "/opentool";

/// The base URL of a server: http or https, without a trailing slash, without a secret.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Address(Url);

impl Address {
    /// Reads a base URL; an empty path becomes the prefix, any other is taken as given.
    pub(crate) fn parse(text: &str) -> Result<Self, ClientError> {
        let mut url = base_url(text).map_err(|InvalidUrl { url, reason }| ClientError::InvalidUrl { url, reason })?;
        if url.path() == "/" {
            url.set_path(PREFIX);
        }
        Ok(Self(url))
    }

    /// Returns the address of a route.
    pub(crate) fn route(&self, name: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}/{name}", self.0.path()));
        url
    }

    pub(crate) fn url(&self) -> &Url {
        &self.0
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_an_empty_path_becomes_the_prefix() {
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
    fn an_invalid_base_url_is_refused_without_its_secret() {
        let error = Address::parse("http://me:s3cret@tools.example/x").unwrap_err();
        assert!(matches!(&error, ClientError::InvalidUrl { url, .. } if url == "http://tools.example/x"), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("s3cret"));
    }
}
