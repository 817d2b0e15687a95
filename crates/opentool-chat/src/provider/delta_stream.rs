//! An answer in pieces: [`delta_stream`].

use std::collections::VecDeque;

use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use futures_util::stream::try_unfold;
use opentool_http::{FrameStream, Framing, HttpRequest};
use serde::de::IgnoredAny;

use super::connection::Connection;
use super::wire::{StreamProgress, StreamReader, WireFormat};
use crate::{ChatError, ChatResponse, Delta, ToolCallDelta};

enum StreamState {
    Unsent(Box<Result<HttpRequest, ChatError>>),
    Reading(Box<FrameStream>),
    Ended,
}

struct DeltaStream<'a, W: WireFormat> {
    connection: &'a Connection,
    reader: W::Reader,
    state: StreamState,
    /// Whether the model has begun to say something.
    has_content: bool,
    deltas: VecDeque<Delta>,
}

/// Sends the request when it is first polled; dropping the stream closes the connection.
pub(crate) fn delta_stream<W: WireFormat>(
    connection: &Connection,
    request: Result<HttpRequest, ChatError>,
) -> BoxStream<'_, Result<Delta, ChatError>> {
    let reader = W::Reader::default();
    let state = StreamState::Unsent(Box::new(request));
    let stream = DeltaStream::<W> { connection, reader, state, has_content: false, deltas: VecDeque::new() };
    try_unfold(stream, |mut stream| async move { Ok(stream.next().await?.map(|delta| (delta, stream))) }).boxed()
}

impl<W: WireFormat> DeltaStream<'_, W> {
    async fn next(&mut self) -> Result<Option<Delta>, ChatError> {
        loop {
            if let Some(delta) = self.deltas.pop_front() {
                return Ok(Some(delta));
            }
            match std::mem::replace(&mut self.state, StreamState::Ended) {
                StreamState::Unsent(request) => self.begin((*request)?).await?,
                StreamState::Reading(frames) => self.advance(frames).await?,
                StreamState::Ended => return Ok(None),
            }
        }
    }

    async fn begin(&mut self, request: HttpRequest) -> Result<(), ChatError> {
        let mut response = self.connection.send(request).await?;
        let is_json = response.is("application/json");
        // Some servers do not stream although they were asked to, and some proxies answer with a page.
        let is_whole = match W::FRAMING {
            _ if response.is("text/html") => true,
            Framing::Events => is_json,
            // Lines of JSON may be called JSON too; then the first line is a text of its own.
            Framing::Lines if is_json => {
                let begun = response.peek_line().await.map_err(|error| self.connection.http_error(error))?;
                !begins_with_a_line_of_json(begun)
            }
            Framing::Lines => false,
        };
        if is_whole {
            self.deltas.extend(deltas_of(self.connection.read::<W>(response).await?));
        } else {
            let mut frames = response.frames(W::FRAMING);
            // A model may think for long before the first word, with an answer that has begun as far as HTTP goes.
            let settings = &self.connection.settings;
            frames.set_idle_timeout(Some(settings.response_timeout.max(settings.idle_timeout)));
            self.state = StreamState::Reading(Box::new(frames));
        }
        Ok(())
    }

    /// Reads until there is a delta, or the end.
    async fn advance(&mut self, mut frames: Box<FrameStream>) -> Result<(), ChatError> {
        loop {
            let next = frames.next().await.map_err(|error| self.connection.http_error(error))?;
            let Some(frame) = next else {
                let message = "the connection was closed before the answer was finished";
                return match self.reader.is_complete() {
                    true => Ok(()),
                    false => Err(ChatError::interrupted(self.connection.provider, message)),
                };
            };
            let read = self.reader.read(&frame, &mut self.deltas);
            if !self.has_content && self.deltas.iter().any(is_content) {
                self.has_content = true;
                frames.set_idle_timeout(Some(self.connection.settings.idle_timeout));
            }
            match read.map_err(|error| self.connection.wire_error(error))? {
                StreamProgress::KeepAlive => frames.was_keep_alive(),
                StreamProgress::Done => {
                    frames.drain().await;
                    return Ok(());
                }
                // One message at a time, so that what came before an error is not lost.
                StreamProgress::More if !self.deltas.is_empty() => {
                    self.state = StreamState::Reading(frames);
                    return Ok(());
                }
                StreamProgress::More => {}
            }
        }
    }
}

fn is_content(delta: &Delta) -> bool {
    matches!(delta, Delta::Text(_) | Delta::Reasoning(_) | Delta::ToolCall(_))
}

/// Says whether the first line of a body is a JSON text of its own.
fn begins_with_a_line_of_json(body: &[u8]) -> bool {
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body).trim_ascii_start();
    let line = body.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

/// The deltas of an answer that was not streamed.
fn deltas_of(response: ChatResponse) -> Vec<Delta> {
    let mut deltas = vec![Delta::Begin { id: response.id, model: response.model }];
    if let Some(generation) = response.generations.into_iter().next() {
        let message = generation.message;
        if !message.reasoning.is_empty() {
            deltas.push(Delta::reasoning(&*message.reasoning));
        }
        if !message.text.is_empty() {
            deltas.push(Delta::text(&*message.text));
        }
        for (index, call) in message.tool_calls.iter().enumerate() {
            let piece = ToolCallDelta::new().with_index(index).with_id(&*call.id).with_name(&*call.name);
            deltas.push(piece.with_arguments(call.arguments.as_str()).into());
        }
        let data = message.provider_data.into_iter();
        deltas.extend(data.map(|(provider, data)| Delta::ProviderData { provider, data }));
        deltas.push(Delta::Finish(generation.finish_reason));
    }
    deltas.push(Delta::Usage(response.usage));
    if !response.metadata.is_empty() {
        deltas.push(Delta::Metadata(response.metadata));
    }
    deltas
}
