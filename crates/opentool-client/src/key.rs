//! The API key, which nobody gets to see.

use std::fmt;

use reqwest::header::HeaderValue;

use crate::ClientError;

/// A key, ready to be sent and never to be shown.
#[derive(Clone)]
pub(crate) struct ApiKey(String);

impl ApiKey {
    pub(crate) fn new(key: String) -> Self {
        Self(key)
    }

    /// The header that carries the key, marked so that no library shows it either.
    pub(crate) fn header(&self) -> Result<HeaderValue, ClientError> {
        let mut header = HeaderValue::try_from(format!("Bearer {}", self.0)).map_err(|_| ClientError::Setup {
            reason: "the API key has characters in it that no header can carry".to_owned(),
        })?;
        header.set_sensitive(true);
        Ok(header)
    }

    /// Cuts the key out of an error, since a server may repeat what it was sent.
    pub(crate) fn cut_out_of(&self, error: ClientError) -> ClientError {
        match error {
            ClientError::Call { message, code, data } if !self.0.is_empty() => ClientError::Call {
                message: message.replace(&self.0, "…"),
                code,
                data: data.filter(|data| !data.to_string().contains(&self.0)),
            },
            error => error,
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
