//! What a function gives back while it runs: [`CallStream`].

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use futures_util::stream::try_unfold;
use opentool_spec::{FunctionCall, ToolReturn};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use tokio::time::timeout;

use crate::ClientError;
use crate::answer::{event_error, event_result};
use crate::client::{params, tool_return};
use crate::events::{Event, EventParser};
use crate::link::{Link, Outgoing};

/// The results of a call, one after the other; an error is the last.
///
/// The stream ends when the server says so or closes the connection. Dropping it closes the connection.
pub struct CallStream(BoxStream<'static, Result<ToolReturn, ClientError>>);

impl CallStream {
    pub(crate) fn new(link: Arc<Link>, call: FunctionCall) -> Self {
        let reader = Reader { link: link.clone(), call, state: State::Unsent };
        let results =
            try_unfold(reader, |mut reader| async move { Ok(reader.next().await?.map(|returned| (returned, reader))) });
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

struct Reader {
    link: Arc<Link>,
    call: FunctionCall,
    state: State,
}

enum State {
    Unsent,
    Reading(Box<Reading>),
    Over,
}

struct Reading {
    response: Response,
    /// None once the body has ended.
    parser: Option<EventParser>,
    events: VecDeque<Event>,
}

impl Reader {
    /// The next result. Each step has the time that a whole request has: a stream may run for long, but not in silence.
    async fn next(&mut self) -> Result<Option<ToolReturn>, ClientError> {
        let time = self.link.settings.timeout;
        timeout(time, self.step()).await.unwrap_or(Err(ClientError::Timeout { after: time }))
    }

    async fn step(&mut self) -> Result<Option<ToolReturn>, ClientError> {
        loop {
            match &mut self.state {
                State::Over => return Ok(None),
                State::Unsent => {
                    let FunctionCall { id, name, arguments, .. } = &self.call;
                    let response = self.link.send(&Outgoing::call("streamCall", id, name, params(arguments)?)?).await?;
                    if !is_event_stream(&response) {
                        self.state = State::Over;
                        // A refusal, or a server that answers at once.
                        let answer = self.link.whole(response).await?;
                        let result = answer.result(self.link.settings.errors_in_results)?;
                        return tool_return(id.clone(), result.as_deref()).map(Some);
                    }
                    let parser = Some(EventParser::new(self.link.settings.max_response_size));
                    self.state = State::Reading(Box::new(Reading { response, parser, events: VecDeque::new() }));
                }
                State::Reading(reading) => {
                    let Some(event) = reading.next_event(&self.link).await? else {
                        self.state = State::Over;
                        continue;
                    };
                    match event.name.as_str() {
                        // An event without a name is called `message`.
                        "data" | "message" | "" => {
                            let result = event_result(&event.data, self.link.settings.errors_in_results)?;
                            return tool_return(self.call.id.clone(), result.as_deref()).map(Some);
                        }
                        "error" => return Err(event_error(&event.data)),
                        "done" => self.state = State::Over,
                        // `start`, and whatever else a server may think of.
                        _ => {}
                    }
                }
            }
        }
    }
}

impl Reading {
    /// The next event; none at the end of the body.
    async fn next_event(&mut self, link: &Link) -> Result<Option<Event>, ClientError> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            let Some(parser) = &mut self.parser else { return Ok(None) };
            match link.next_chunk(&mut self.response).await? {
                Some(chunk) => parser.push(&chunk, &mut self.events)?,
                None => self.events.extend(self.parser.take().and_then(EventParser::finish)),
            }
        }
    }
}

/// Says whether an answer is a stream of events; a good one that does not say what it is is taken for one.
fn is_event_stream(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes().to_ascii_lowercase());
    response.status().is_success() && content_type.is_none_or(|kind| kind.starts_with(b"text/event-stream"))
}
