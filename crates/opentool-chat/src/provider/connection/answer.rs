//! An answer whose body is still to come.

use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use tokio::time::timeout;

use super::Link;
use crate::ChatError;

/// How long an announced end may take to arrive, so that the connection can be used again.
const DRAIN: Duration = Duration::from_millis(20);

/// An answer whose body is still to come, within its limits of size and silence.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    link: &'a Link,
    response: Response,
    read: usize,
}

impl<'a> Answer<'a> {
    pub(crate) fn new(link: &'a Link, response: Response) -> Self {
        Self { link, response, read: 0 }
    }

    /// Says whether the answer claims to be of a media type.
    pub(crate) fn is(&self, media_type: &str) -> bool {
        let claimed = self.response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes().to_ascii_lowercase());
        claimed.is_some_and(|claimed| claimed.starts_with(media_type.as_bytes()))
    }

    /// Reads the next chunk; none at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, ChatError> {
        let provider = self.link.provider;
        let settings = &self.link.settings;
        let chunk = timeout(settings.idle_timeout, self.response.chunk())
            .await
            .map_err(|_| {
                let message = format!("nothing came for {:?} in the middle of an answer", settings.idle_timeout);
                ChatError::timed_out(provider, message)
            })?
            .map_err(|error| ChatError::interrupted(provider, innermost(&error.without_url())))?;
        if let Some(chunk) = &chunk {
            self.read += chunk.len();
            if self.read > settings.max_response_size {
                let message = format!("it is larger than {} bytes", settings.max_response_size);
                return Err(ChatError::unreadable(provider, message));
            }
        }
        Ok(chunk)
    }

    /// Reads until a line that is not empty is there, or the end; returns everything that was read.
    pub(crate) async fn first_line(&mut self) -> Result<Vec<u8>, ChatError> {
        let (mut body, mut begun) = (Vec::new(), false);
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
            let line = if begun { &chunk[..] } else { chunk.trim_ascii_start() };
            begun |= !line.is_empty();
            if line.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
                break;
            }
        }
        Ok(body)
    }

    /// Reads the rest.
    pub(crate) async fn whole(mut self) -> Result<Vec<u8>, ChatError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Waits a moment for the end that was announced: only a connection whose answer was read to its end is used again.
    pub(crate) async fn drain(mut self) {
        // Whatever comes now changes nothing.
        drop(timeout(DRAIN, async { while matches!(self.chunk().await, Ok(Some(_))) {} }).await);
    }
}

/// What happened, in the words of whoever it happened to.
pub(crate) fn innermost(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}
