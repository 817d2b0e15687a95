//! The key that a server gets, and nobody else gets to see: [`ApiKey`].

use std::fmt;

use reqwest::header::HeaderValue;

/// A key, ready to be sent and never to be shown.
#[derive(Clone)]
pub struct ApiKey(String);

/// A key with characters in it that no header can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsendableKey;

impl fmt::Display for UnsendableKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the API key has characters in it that no header can carry")
    }
}

impl std::error::Error for UnsendableKey {}

impl ApiKey {
    /// Takes a key; one that is blank is none.
    pub fn new(key: impl Into<String>) -> Option<Self> {
        let key = key.into();
        (!key.trim().is_empty()).then_some(Self(key))
    }

    /// Returns the value of the header that carries the key, marked so that no library shows it either.
    ///
    /// # Errors
    ///
    /// Where no header can carry it.
    pub fn header(&self, prefix: &str) -> Result<HeaderValue, UnsendableKey> {
        let mut header = HeaderValue::try_from(format!("{prefix}{}", self.0)).map_err(|_| UnsendableKey)?;
        header.set_sensitive(true);
        Ok(header)
    }

    /// Says whether a text gives the key away.
    pub fn is_in(&self, text: &str) -> bool {
        text.contains(&self.0)
    }

    /// Cuts the key out of a text, since a server may repeat what it was sent.
    pub fn cut_out_of(&self, text: String) -> String {
        if self.is_in(&text) { text.replace(&self.0, "…") } else { text }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
