//! An answer in pieces.

use std::collections::VecDeque;

use bytes::Bytes;
use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use futures_util::stream::try_unfold;
use opentool_http::Frames;
use serde::de::IgnoredAny;

use super::answer::Answer;
use super::link::ReadWhole;
use super::{Fault, Frame, Framing, Link};
use crate::{ChatError, ChatResponse, Delta, ToolCallDelta};

/// Makes pieces of an answer of the messages on a provider's wire.
pub(crate) trait Reader: Send {
    /// Reads the next message and appends the pieces in it.
    fn read(&mut self, frame: &Frame, deltas: &mut VecDeque<Delta>) -> Result<Progress, Fault>;

    /// Says whether the answer may be taken for whole if nothing comes any more.
    fn is_whole(&self) -> bool;
}

/// Whether more is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The answer goes on.
    More,
    /// The end was announced.
    Over,
}

enum State<'a> {
    /// Nothing has been sent.
    Unsent(Result<Bytes, ChatError>),
    Reading(Box<Reading<'a>>),
    /// Everything that will come is there.
    Over,
}

struct Reading<'a> {
    answer: Answer<'a>,
    frames: Frames,
    waiting: VecDeque<Frame>,
}

struct Stream<'a, R> {
    link: &'a Link,
    framing: Framing,
    reader: R,
    read: ReadWhole,
    state: State<'a>,
    deltas: VecDeque<Delta>,
}

/// Asks when it is first polled; dropping the stream closes the connection.
pub(crate) fn stream<'a>(
    link: &'a Link,
    body: Result<Bytes, ChatError>,
    framing: Framing,
    reader: impl Reader + 'a,
    read: ReadWhole,
) -> BoxStream<'a, Result<Delta, ChatError>> {
    let stream = Stream { link, framing, reader, read, state: State::Unsent(body), deltas: VecDeque::new() };
    try_unfold(stream, |mut stream| async move { Ok(stream.next().await?.map(|delta| (delta, stream))) }).boxed()
}

impl<'a, R: Reader> Stream<'a, R> {
    async fn next(&mut self) -> Result<Option<Delta>, ChatError> {
        loop {
            if let Some(delta) = self.deltas.pop_front() {
                return Ok(Some(delta));
            }
            match std::mem::replace(&mut self.state, State::Over) {
                State::Unsent(body) => self.begin(body?).await?,
                State::Reading(reading) => self.advance(reading).await?,
                State::Over => return Ok(None),
            }
        }
    }

    async fn begin(&mut self, body: Bytes) -> Result<(), ChatError> {
        let mut answer = self.link.ask(body).await?;
        let is_json = answer.is("application/json");
        let mut begun = Vec::new();
        // Some servers do not stream although they were asked to, and some proxies answer with a page.
        let is_whole = match self.framing {
            _ if answer.is("text/html") => true,
            Framing::Events => is_json,
            // Lines of JSON are JSON too, but then the first is a text of its own.
            Framing::Lines if is_json => {
                begun = answer.first_line().await?;
                !begins_with_a_line_of_json(&begun)
            }
            Framing::Lines => false,
        };
        if is_whole {
            begun.extend(answer.whole().await?);
            self.deltas.extend(deltas_of(self.link.read(&begun, self.read)?));
            return Ok(());
        }
        let (mut frames, mut waiting) = (Frames::new(self.framing), VecDeque::new());
        frames.push(&begun, &mut waiting);
        self.state = State::Reading(Box::new(Reading { answer, frames, waiting }));
        Ok(())
    }

    /// Reads until a piece is there, or the end.
    async fn advance(&mut self, mut reading: Box<Reading<'a>>) -> Result<(), ChatError> {
        loop {
            // One message at a time: what came before an error is not lost.
            while let Some(frame) = reading.waiting.pop_front() {
                match self.reader.read(&frame, &mut self.deltas) {
                    Ok(Progress::Over) => {
                        reading.answer.drain().await;
                        return Ok(());
                    }
                    Ok(Progress::More) if self.deltas.is_empty() => {}
                    Ok(Progress::More) => {
                        self.state = State::Reading(reading);
                        return Ok(());
                    }
                    Err(fault) => return Err(self.link.fault(fault)),
                }
            }
            match reading.answer.chunk().await? {
                Some(chunk) => reading.frames.push(&chunk, &mut reading.waiting),
                None => match reading.frames.finish() {
                    Some(last) => reading.waiting.push_back(last),
                    None if self.reader.is_whole() => return Ok(()),
                    None => {
                        let message = "the connection was closed before the answer was finished";
                        return Err(ChatError::interrupted(self.link.provider, message));
                    }
                },
            }
        }
    }
}

/// Says whether the first line of a body is a JSON text of its own.
fn begins_with_a_line_of_json(body: &[u8]) -> bool {
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body).trim_ascii_start();
    let line = body.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

/// The pieces of an answer that came in one.
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
