//! API keys and other secrets: [`ApiKey`], [`Secrets`].

use std::fmt;

use reqwest::header::{HeaderName, HeaderValue};

use crate::error::SetupError;

/// What stands for a secret in a text.
const REDACTED: &str = "…";

/// A key that can be sent and is never shown.
#[derive(Clone)]
pub struct ApiKey(String);

/// A key with characters that no header can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the API key has characters in it that no header can carry")]
pub struct UnsendableKey;

impl ApiKey {
    /// Takes a key; a blank one is none.
    pub fn new(key: impl Into<String>) -> Option<Self> {
        let key = key.into();
        (!key.trim().is_empty()).then_some(Self(key))
    }

    /// Returns the value of the header that carries the key, marked sensitive so that HTTP libraries do not show it either.
    ///
    /// # Errors
    ///
    /// When no header can carry it.
    pub fn header(&self, prefix: &str) -> Result<HeaderValue, UnsendableKey> {
        let mut header = HeaderValue::try_from(format!("{prefix}{}", self.0)).map_err(|_| UnsendableKey)?;
        header.set_sensitive(true);
        Ok(header)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// Everything that a server gets and that no text may repeat.
#[derive(Clone, Debug, Default)]
pub struct Secrets(Vec<ApiKey>);

impl Secrets {
    /// Says whether a text contains a secret.
    pub fn occur_in(&self, text: &str) -> bool {
        self.0.iter().any(|secret| text.contains(&secret.0))
    }

    /// Removes the secrets from a text, since a server may repeat what it was sent. Do this before cutting a text short, or half
    /// of a secret may remain.
    #[must_use]
    pub fn redact(&self, text: String) -> String {
        self.0.iter().fold(text, |text, secret| match text.contains(&secret.0) {
            true => text.replace(&secret.0, REDACTED),
            false => text,
        })
    }
}

impl FromIterator<ApiKey> for Secrets {
    fn from_iter<T: IntoIterator<Item = ApiKey>>(keys: T) -> Self {
        Self(keys.into_iter().collect())
    }
}

/// Makes a header whose value is never shown.
///
/// # Errors
///
/// When the name or the value cannot be one.
pub fn secret_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), SetupError> {
    let parsed =
        HeaderName::try_from(name).map_err(|_| SetupError::new(format!("`{name}` cannot be the name of a header")))?;
    let mut value = HeaderValue::try_from(value).map_err(|_| {
        SetupError::new(format!("the value of the header `{name}` has characters in it that no header can carry"))
    })?;
    value.set_sensitive(true);
    Ok((parsed, value))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn secrets_are_redacted_and_never_shown() {
        let secrets: Secrets = ["s3cret", "other"].into_iter().filter_map(ApiKey::new).collect();
        assert_eq!(secrets.redact("s3cret, other, s3cret".to_owned()), "…, …, …");
        assert_eq!(secrets.redact("harmless".to_owned()), "harmless");
        assert!(secrets.occur_in("an other one") && !secrets.occur_in("harmless"));
        assert_eq!(format!("{secrets:?}"), "Secrets([…, …])");
    }

    #[test]
    fn a_blank_key_is_none() {
        assert!(ApiKey::new(" \n").is_none());
        assert!(Secrets::from_iter(ApiKey::new("")).redact("text".to_owned()) == "text");
    }

    #[test]
    fn a_header_is_sensitive_and_must_be_sendable() {
        let header = ApiKey::new("s3cret").unwrap().header("Bearer ").unwrap();
        assert_eq!((header.to_str().unwrap(), header.is_sensitive()), ("Bearer s3cret", true));
        assert_eq!(ApiKey::new("a\nb").unwrap().header(""), Err(UnsendableKey));
        let (name, value) = secret_header("X-Token", "s3cret").unwrap();
        assert_eq!((name.as_str(), value.is_sensitive()), ("x-token", true));
        assert_eq!(secret_header("a b", "c").unwrap_err().to_string(), "`a b` cannot be the name of a header");
        assert!(secret_header("a", "b\nc").unwrap_err().to_string().starts_with("the value of the header `a`"));
    }
}
