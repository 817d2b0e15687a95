//! The API key, which nobody gets to see.

use std::fmt;

use reqwest::header::HeaderValue;

/// A key, ready to be sent and never to be shown.
#[derive(Clone)]
pub(crate) struct ApiKey(String);

impl ApiKey {
    /// Takes a key; one that is blank is none.
    pub(crate) fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        (!key.is_empty()).then(|| Self(key.to_owned()))
    }

    /// The value of the header that carries the key, marked so that no library shows it either.
    pub(crate) fn header(&self, prefix: &str) -> Result<HeaderValue, String> {
        let mut header = HeaderValue::try_from(format!("{prefix}{}", self.0))
            .map_err(|_| "the API key has characters in it that no header can carry".to_owned())?;
        header.set_sensitive(true);
        Ok(header)
    }

    /// Cuts the key out of a text, since a provider may repeat what it was sent.
    pub(crate) fn cut_out_of(&self, text: String) -> String {
        if text.contains(&self.0) { text.replace(&self.0, "…") } else { text }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
