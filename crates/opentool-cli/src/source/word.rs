//! Words that stand for a source.

use std::path::Path;

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
