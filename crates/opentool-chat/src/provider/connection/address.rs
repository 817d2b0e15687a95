//! Where a provider is.

use reqwest::Url;

/// Reads a base URL: http or https, without a trailing slash, without anything secret in it.
pub(crate) fn base(text: &str) -> Result<Url, String> {
    let text = text.trim();
    let invalid = |reason: &str| format!("`{}` cannot be the address of a provider: {reason}", without_secrets(text));
    let mut url = Url::parse(text).map_err(|_| invalid("it is no URL; write https://HOST/PATH"))?;
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
    fn what_is_no_base_url_is_refused_without_repeating_a_secret() {
        for given in [
            "",
            "127.0.0.1:80",
            "ftp://models.example",
            "http://me:s3cret@models.example/x",
            "http://me:s3cret@ho st",
            "https://models.example/?key=s3cret",
            "https://models.example/#s3cret",
        ] {
            let error = base(given).unwrap_err();
            assert!(error.contains("cannot be the address of a provider") && !error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn a_trailing_slash_makes_no_difference() {
        assert_eq!(base(" https://models.example/v1/ ").unwrap(), base("https://models.example/v1").unwrap());
    }
}
