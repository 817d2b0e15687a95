//! Words that stand for a source.

use std::path::Path;

use crate::setting::is_loopback;

/// The word for the tools that come with the binary. A file of that name is `./demo`.
pub(super) const DEMO: &str = "demo";

/// Whether a word is `demo`, a URL, or a file.
pub(super) fn looks_like_source(word: &str) -> bool {
    if word.contains(char::is_whitespace) {
        return Path::new(word).is_file();
    }
    let is_scheme = |scheme: &str| {
        let scheme = scheme.strip_prefix("mcp+").unwrap_or(scheme);
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let has_scheme = word.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme));
    let is_document = word.to_ascii_lowercase().ends_with(".json");
    word == DEMO || has_scheme || is_document || Path::new(word).is_file()
}

/// A URL without what may be secret in it.
pub(crate) fn shown_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{authority}{path}")
}

/// The port of a URL that leads to this machine.
pub(crate) fn local_port(url: &str) -> Option<u16> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (authority, if scheme.ends_with("https") { 443 } else { 80 }),
    };
    is_loopback(host).then_some(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_what_may_be_secret() {
        assert_eq!(shown_url("http://me:pw@tools.example:81/a?key=x#y"), "http://tools.example:81/a");
        assert_eq!(shown_url("https://tools.example?key=x"), "https://tools.example");
        assert_eq!(shown_url("clock.json"), "clock.json");
    }

    #[test]
    fn the_port_of_a_server_on_this_machine_is_known() {
        for (url, port) in [
            ("http://127.0.0.1:9627/opentool", 9627),
            ("http://me:pw@localhost:81?x", 81),
            ("http://[::1]:82/a", 82),
            ("http://[::1]", 80),
            ("https://localhost/a:b", 443),
        ] {
            assert_eq!(local_port(url), Some(port), "{url}");
        }
        for url in ["http://10.0.0.7:9627", "https://tools.example", "localhost:9627", "http://localhost:x"] {
            assert_eq!(local_port(url), None, "{url}");
        }
    }

    #[test]
    fn a_word_for_a_source_is_distinguished_from_something_to_say() {
        for source in [
            "demo",
            "http://a",
            "HTTPS://a?b=c",
            "mcp+https://a",
            "ftp://a",
            "weather.json",
            "no/such/Weather.JSON",
            "Cargo.toml",
        ] {
            assert!(looks_like_source(source), "{source}");
        }
        for prompt in
            ["", "hello", "What is in a.json", "see http://a", "http://a what is it", "://", "demo tools", "-"]
        {
            assert!(!looks_like_source(prompt), "{prompt}");
        }
    }
}
