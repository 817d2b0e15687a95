//! Reading responses: [`HttpResponse`], [`FrameStream`].

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use tokio::time::{Instant, timeout};

use crate::error::HttpError;
use crate::frame::{Frame, FrameParser, Framing};
use crate::retry_after::retry_after;

/// How long the end of a body that was announced may take to arrive, so that the connection can be used again.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(20);

/// What the size limit of a body means for a stream of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamLimit {
    /// All messages together must not be larger.
    Total,
    /// No message must be larger; a stream may go on forever.
    PerFrame,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLimits {
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) max_size: usize,
    pub(crate) stream: StreamLimit,
}

/// A response whose body is still to come.
#[derive(Debug)]
pub struct HttpResponse {
    response: reqwest::Response,
    limits: BodyLimits,
    /// How many bytes of the body have come.
    received: usize,
    /// What was read ahead.
    peeked: Vec<u8>,
}

impl HttpResponse {
    pub(crate) fn new(response: reqwest::Response, limits: BodyLimits) -> Self {
        Self { response, limits, received: 0, peeked: Vec::new() }
    }

    /// Returns the status.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Says whether the status is a good one.
    pub fn is_success(&self) -> bool {
        self.response.status().is_success()
    }

    /// Returns the headers.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Returns when the server wants to be asked again.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(self.headers(), SystemTime::now())
    }

    /// Returns the content type in lower case, with its parameters.
    pub fn content_type(&self) -> Option<String> {
        let value = self.headers().get(CONTENT_TYPE)?;
        Some(String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase())
    }

    /// Says whether the response claims to be of a media type.
    pub fn is(&self, media_type: &str) -> bool {
        self.content_type().is_some_and(|claimed| claimed.starts_with(media_type))
    }

    /// Reads the whole body.
    ///
    /// # Errors
    ///
    /// When it breaks off, falls silent or is too large.
    pub async fn bytes(mut self) -> Result<Vec<u8>, HttpError> {
        let mut body = std::mem::take(&mut self.peeked);
        while let Some(chunk) = self.receive().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Reads until a line that is not empty is complete, or to the end, and returns all that was read. Nothing is lost: it is
    /// read again by whatever reads the body.
    ///
    /// # Errors
    ///
    /// When the body breaks off, falls silent or is too large.
    pub async fn peek_line(&mut self) -> Result<&[u8], HttpError> {
        let mut begun = false;
        while let Some(chunk) = self.receive().await? {
            self.peeked.extend_from_slice(&chunk);
            let line = if begun { &chunk[..] } else { chunk.trim_ascii_start() };
            begun |= !line.is_empty();
            if line.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
                break;
            }
        }
        Ok(&self.peeked)
    }

    /// Reads the body message by message.
    pub fn frames(mut self, framing: Framing) -> FrameStream {
        let limit = self.limits.max_size;
        let max_frame = match self.limits.stream {
            StreamLimit::Total => usize::MAX,
            StreamLimit::PerFrame => {
                self.limits.max_size = usize::MAX;
                limit
            }
        };
        let (mut parser, mut ready) = (FrameParser::new(framing), VecDeque::new());
        parser.push(&std::mem::take(&mut self.peeked), &mut ready);
        let idle_timeout = self.limits.idle_timeout;
        let silent_since = Instant::now();
        FrameStream {
            response: self,
            parser: Some(parser),
            ready,
            max_frame,
            idle_timeout,
            silent_since,
            silent: false,
        }
    }

    /// How the body is encoded, where it is.
    fn encoding(&self) -> Option<String> {
        let value = self.headers().get(CONTENT_ENCODING)?;
        let encoding = String::from_utf8_lossy(value.as_bytes()).trim().to_ascii_lowercase();
        (!encoding.is_empty() && encoding != "identity").then_some(encoding)
    }

    /// The next bytes from the network; none at the end.
    async fn receive(&mut self) -> Result<Option<Bytes>, HttpError> {
        let after = self.limits.idle_timeout;
        self.receive_within(after, after).await
    }

    /// The next bytes, for which there is so much time left of an idle timeout.
    async fn receive_within(
        &mut self,
        idle_timeout: Option<Duration>,
        left: Option<Duration>,
    ) -> Result<Option<Bytes>, HttpError> {
        if let Some(encoding) = self.encoding() {
            return Err(HttpError::Encoded { encoding });
        }
        let chunk = match left {
            Some(left) => {
                let after = idle_timeout.unwrap_or(left);
                timeout(left, self.response.chunk()).await.map_err(|_| HttpError::Idle { after })?
            }
            None => self.response.chunk().await,
        };
        let chunk = chunk.map_err(HttpError::interrupted)?;
        self.received += chunk.as_ref().map_or(0, Bytes::len);
        let limit = self.limits.max_size;
        if self.received > limit { Err(HttpError::TooLarge { limit }) } else { Ok(chunk) }
    }
}

/// The messages of a body, as they come. Dropping it closes the connection.
#[derive(Debug)]
pub struct FrameStream {
    response: HttpResponse,
    /// None once the body has ended.
    parser: Option<FrameParser>,
    ready: VecDeque<Frame>,
    max_frame: usize,
    idle_timeout: Option<Duration>,
    /// When the last message came that said something.
    silent_since: Instant,
    /// Whether the last message said nothing.
    silent: bool,
}

impl FrameStream {
    /// Sets how long the body may be silent from here on.
    pub fn set_idle_timeout(&mut self, time: Option<Duration>) {
        self.idle_timeout = time;
    }

    /// Says that the last message only kept the connection alive: the body counts as silent since the one before it.
    pub fn was_keep_alive(&mut self) {
        self.silent = true;
    }

    /// Reads the next message; none at the end of the body.
    ///
    /// Comments, which some servers send to keep a connection alive, do not end a silence.
    ///
    /// # Errors
    ///
    /// When the body breaks off, falls silent or is too large. The messages before that come first.
    pub async fn next(&mut self) -> Result<Option<Frame>, HttpError> {
        let limit = self.max_frame;
        if !std::mem::take(&mut self.silent) {
            self.silent_since = Instant::now();
        }
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return if frame.size() > limit { Err(HttpError::TooLarge { limit }) } else { Ok(Some(frame)) };
            }
            let Some(parser) = &mut self.parser else { return Ok(None) };
            let left = self.idle_timeout.map(|after| after.saturating_sub(self.silent_since.elapsed()));
            match self.response.receive_within(self.idle_timeout, left).await? {
                Some(chunk) => {
                    parser.push(&chunk, &mut self.ready);
                    if self.ready.is_empty() && parser.buffered() > limit {
                        return Err(HttpError::TooLarge { limit });
                    }
                    match (parser.has_content(), left, self.idle_timeout) {
                        // A long message that comes bit by bit is no silence.
                        (true, ..) => self.silent_since = Instant::now(),
                        // Comments that never end are one.
                        (false, Some(Duration::ZERO), Some(after)) if self.ready.is_empty() => {
                            return Err(HttpError::Idle { after });
                        }
                        _ => {}
                    }
                }
                None => self.ready.extend(self.parser.take().and_then(FrameParser::finish)),
            }
        }
    }

    /// Waits a moment for the end of the body after the last message that matters: a connection is used again only when a
    /// response was read to its end.
    pub async fn drain(mut self) {
        // Whether anything else comes, or an error, changes nothing.
        drop(timeout(DRAIN_TIMEOUT, async { while matches!(self.response.receive().await, Ok(Some(_))) {} }).await);
    }
}
