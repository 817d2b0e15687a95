//! What a function gives back while it runs: [`CallStream`].

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use futures_util::stream::try_unfold;
use opentool_http::{Frame, Frames, Framing};
use opentool_spec::{FunctionCall, ToolReturn};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::value::RawValue;
use tokio::time::timeout;

use crate::ClientError;
use crate::answer::{event_error, event_result};
use crate::client::{params, tool_return};
use crate::link::{Link, Outgoing};

/// The route of streamed calls.
pub(crate) const STREAM_CALL: &str = "streamCall";

/// What a stream is asked for, and says that it is, in which the result has an event of its own.
pub(crate) const RESULT_NAMED: &str = "text/event-stream;result=named";

/// The results of a call, one after the other; an error is the last.
///
/// The stream ends when the server says so or closes the connection. Dropping it closes the connection.
pub struct CallStream(BoxStream<'static, Result<ToolReturn, ClientError>>);

impl CallStream {
    pub(crate) fn new(link: Arc<Link>, call: FunctionCall) -> Self {
        let FunctionCall { id, name, arguments, .. } = call;
        let request = params(&arguments).and_then(|params| Outgoing::call(STREAM_CALL, &id, &name, params));
        let reader = Reader::new(link.clone(), request, link.settings.timeout);
        let results = try_unfold((reader, id), |(mut reader, id)| async move {
            let Some(piece) = reader.next().await? else { return Ok(None) };
            let returned = tool_return(id.clone(), piece.value.as_deref())?;
            Ok(Some((returned, (reader, id))))
        });
        Self(results.map(move |item| item.map_err(|error| link.harmless(error))).boxed())
    }
}

impl Stream for CallStream {
    type Item = Result<ToolReturn, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for CallStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallStream")
    }
}

/// Something that a function gave back.
pub(crate) struct Piece {
    /// None where it is nothing.
    pub(crate) value: Option<Box<RawValue>>,
    pub(crate) role: Role,
}

/// What a piece is of a function's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Given while the function runs.
    Emitted,
    /// What the function returned.
    Result,
    /// One of these; the server does not say which.
    Either,
}

/// Reads the answer to a streamed call, piece by piece.
pub(crate) struct Reader {
    link: Arc<Link>,
    /// How long nothing may come: a stream may run for long, but not in silence.
    patience: Duration,
    state: State,
}

enum State {
    Unsent(Result<Outgoing, ClientError>),
    Reading(Box<Reading>),
    Over,
}

struct Reading {
    response: Response,
    /// What a piece is that comes as `data`.
    data: Role,
    /// None once the body has ended.
    frames: Option<Frames>,
    events: VecDeque<Frame>,
}

impl Reader {
    pub(crate) fn new(link: Arc<Link>, request: Result<Outgoing, ClientError>, patience: Duration) -> Self {
        Self { link, patience, state: State::Unsent(request) }
    }

    /// The next piece.
    pub(crate) async fn next(&mut self) -> Result<Option<Piece>, ClientError> {
        let time = self.patience;
        timeout(time, self.step()).await.unwrap_or(Err(ClientError::Timeout { after: time }))
    }

    async fn step(&mut self) -> Result<Option<Piece>, ClientError> {
        let errors_in_results = self.link.settings.errors_in_results;
        loop {
            match &mut self.state {
                State::Over => return Ok(None),
                State::Unsent(request) => {
                    let response = match request {
                        Ok(request) => self.link.send(request).await?,
                        Err(error) => return Err(error.clone()),
                    };
                    let Some(data) = role_of_data(&response) else {
                        self.state = State::Over;
                        if is_no_route(&response) {
                            self.link.cannot_stream();
                        }
                        // A refusal, or a server that answers at once.
                        let answer = self.link.whole(response).await?;
                        return Ok(Some(Piece { value: answer.result(errors_in_results)?, role: Role::Result }));
                    };
                    let frames = Some(Frames::new(Framing::Events));
                    self.state = State::Reading(Box::new(Reading { response, data, frames, events: VecDeque::new() }));
                }
                State::Reading(reading) => {
                    let Some(event) = reading.next_event(&self.link).await? else {
                        self.state = State::Over;
                        continue;
                    };
                    let role = match event.name.to_ascii_lowercase().as_str() {
                        // An event without a name is called `message`.
                        "data" | "message" | "" => reading.data,
                        "result" => Role::Result,
                        "error" => return Err(event_error(&event.data)),
                        "done" => {
                            self.state = State::Over;
                            continue;
                        }
                        // `start`, and whatever else a server may think of.
                        _ => continue,
                    };
                    return Ok(Some(Piece { value: event_result(&event.data, errors_in_results)?, role }));
                }
            }
        }
    }
}

impl Reading {
    /// The next event; none at the end of the body.
    async fn next_event(&mut self, link: &Link) -> Result<Option<Frame>, ClientError> {
        let limit = link.settings.max_response_size;
        loop {
            if let Some(event) = self.events.pop_front() {
                let size = event.name.len() + event.data.len();
                return if size > limit { Err(ClientError::TooLarge { limit }) } else { Ok(Some(event)) };
            }
            let Some(frames) = &mut self.frames else { return Ok(None) };
            match link.next_chunk(&mut self.response).await? {
                Some(chunk) => {
                    frames.push(&chunk, &mut self.events);
                    if self.events.is_empty() && frames.held() > limit {
                        return Err(ClientError::TooLarge { limit });
                    }
                }
                None => self.events.extend(self.frames.take().and_then(|mut frames| frames.finish())),
            }
        }
    }
}

/// What `data` is in an answer that is a stream of events; a good one that does not say what it is is taken for one.
fn role_of_data(response: &Response) -> Option<Role> {
    if !response.status().is_success() {
        return None;
    }
    match content_type(response) {
        Some(kind) if kind == RESULT_NAMED.as_bytes() => Some(Role::Emitted),
        Some(kind) if !kind.starts_with(b"text/event-stream") => None,
        _ => Some(Role::Either),
    }
}

/// Says whether nobody has seen the call, because the server has no such route.
fn is_no_route(response: &Response) -> bool {
    let page = || content_type(response).is_some_and(|kind| kind.starts_with(b"text/html"));
    matches!(response.status().as_u16(), 404 | 405 | 501) || (response.status().is_success() && page())
}

fn content_type(response: &Response) -> Option<Vec<u8>> {
    response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes().to_ascii_lowercase())
}
