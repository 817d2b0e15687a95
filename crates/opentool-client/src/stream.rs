//! Reading the answer to a streamed call: [`CallReader`].

use std::sync::Arc;
use std::time::Duration;

use opentool_http::{FrameStream, Framing, HttpResponse};
use tokio::time::timeout;

use crate::connection::Connection;
use crate::error::ClientError;
use crate::request::ServerRequest;
use crate::response::{CallResult, event_error, event_result};

/// The route of streamed calls.
pub(crate) const STREAM_CALL: &str = "streamCall";

/// The content type of a stream in which the result has an event name of its own: requested, and confirmed by a server that can.
pub(crate) const RESULT_NAMED: &str = "text/event-stream;result=named";

/// A value that a function returned, or emitted while it ran.
pub(crate) struct StreamedValue {
    pub(crate) result: CallResult,
    pub(crate) role: ValueRole,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueRole {
    /// Emitted while the function runs.
    Emitted,
    /// The function's result.
    Result,
    /// One of these; the server does not say which.
    Unknown,
}

/// Reads the answer to a streamed call, value by value.
pub(crate) struct CallReader {
    connection: Arc<Connection>,
    /// How long nothing may come: a stream may run for long, but not in silence.
    max_silence: Duration,
    state: ReaderState,
}

enum ReaderState {
    Unsent(Result<ServerRequest, ClientError>),
    Reading {
        frames: Box<FrameStream>,
        /// The role of a `data` event.
        data: ValueRole,
    },
    Ended,
}

impl CallReader {
    pub(crate) fn new(
        connection: Arc<Connection>,
        request: Result<ServerRequest, ClientError>,
        max_silence: Duration,
    ) -> Self {
        Self { connection, max_silence, state: ReaderState::Unsent(request) }
    }

    /// The next value; none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<StreamedValue>, ClientError> {
        let after = self.max_silence;
        timeout(after, self.step()).await.unwrap_or(Err(ClientError::Timeout { after }))
    }

    async fn step(&mut self) -> Result<Option<StreamedValue>, ClientError> {
        let errors_in_results = self.connection.config.errors_in_results;
        loop {
            match &mut self.state {
                ReaderState::Ended => return Ok(None),
                ReaderState::Unsent(request) => {
                    let response = match request {
                        Ok(request) => self.connection.send(request).await?,
                        Err(error) => return Err(error.clone()),
                    };
                    let Some(data) = role_of_data(&response) else {
                        self.state = ReaderState::Ended;
                        if is_missing_route(&response) {
                            self.connection.set_cannot_stream();
                        }
                        // A refusal, or a server that does not stream the answer.
                        let result = self.connection.read_whole(response).await?.result(errors_in_results)?;
                        return Ok(Some(StreamedValue { result, role: ValueRole::Result }));
                    };
                    self.state = ReaderState::Reading { frames: Box::new(response.frames(Framing::Events)), data };
                }
                ReaderState::Reading { frames, data } => {
                    let next = frames.next().await.map_err(|error| self.connection.http_error(error))?;
                    let Some(event) = next else {
                        self.state = ReaderState::Ended;
                        continue;
                    };
                    let role = match event.name.to_ascii_lowercase().as_str() {
                        // An event without a name is called `message`.
                        "data" | "message" | "" => *data,
                        "result" => ValueRole::Result,
                        "error" => return Err(event_error(&event.data)),
                        "done" => {
                            self.state = ReaderState::Ended;
                            continue;
                        }
                        // `start`, and events that this client does not know.
                        _ => continue,
                    };
                    return Ok(Some(StreamedValue { result: event_result(&event.data, errors_in_results)?, role }));
                }
            }
        }
    }
}

/// The role of a `data` event, if the response is a stream of events; a good one without a content type is taken for one.
fn role_of_data(response: &HttpResponse) -> Option<ValueRole> {
    if !response.is_success() {
        return None;
    }
    match response.content_type().as_deref() {
        Some(RESULT_NAMED) => Some(ValueRole::Emitted),
        Some(other) if !other.starts_with("text/event-stream") => None,
        _ => Some(ValueRole::Unknown),
    }
}

/// Says whether the server has no such route, so the call has not run.
fn is_missing_route(response: &HttpResponse) -> bool {
    matches!(response.status(), 404 | 405 | 501) || (response.is_success() && response.is("text/html"))
}
