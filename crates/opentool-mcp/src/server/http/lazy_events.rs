//! A response of which is not known yet whether it has events: [`LazyEvents`].

use std::sync::{Arc, OnceLock};

use opentool_core::BoxFuture;
use opentool_server::FrontendResponse;
use tokio::sync::mpsc;

use super::events::{self, EventSink};
use super::replay::{ReplayBudget, ReplayStream};
use super::sessions::Session;
use crate::server::sink::MessageSink;

/// A response that becomes server-sent events with the first message that comes before the answer. An answer that comes first is
/// a body of its own: the events of many clients have a limit that their bodies have not.
pub(super) struct LazyEvents {
    response: mpsc::Sender<FrontendResponse>,
    stream: OnceLock<OpenStream>,
    /// The session whose client may take the events up again.
    session: Option<Arc<Session>>,
    replay_budget: ReplayBudget,
}

/// Events that have begun.
enum OpenStream {
    Plain(EventSink),
    Kept(Arc<ReplayStream>),
}

impl OpenStream {
    fn sink(&self) -> &dyn MessageSink {
        match self {
            Self::Plain(sink) => sink,
            Self::Kept(stream) => &**stream,
        }
    }
}

impl LazyEvents {
    /// Makes one, and what yields its response.
    pub(super) fn new(
        session: Option<Arc<Session>>,
        replay_budget: ReplayBudget,
    ) -> (Self, mpsc::Receiver<FrontendResponse>) {
        let (response, responses) = mpsc::channel(1);
        (Self { response, stream: OnceLock::new(), session, replay_budget }, responses)
    }

    fn opened(&self) -> &dyn MessageSink {
        let mut opened = None;
        let stream = self.stream.get_or_init(|| {
            let (response, sink) = events::open();
            opened = Some(response);
            match &self.session {
                Some(session) => OpenStream::Kept(session.streams.begin(sink, &self.replay_budget)),
                None => OpenStream::Plain(sink),
            }
        });
        // Only now, so that a response is never there without its sink.
        if let Some(response) = opened {
            // A client that has gone away needs none.
            let _ = self.response.try_send(response);
        }
        stream.sink()
    }

    /// Ends the response with the answer.
    pub(super) async fn finish(&self, message: Vec<u8>, respond: impl FnOnce(Vec<u8>) -> FrontendResponse) {
        match self.stream.get() {
            Some(stream) => {
                stream.sink().send(message).await;
                if let OpenStream::Kept(stream) = stream {
                    stream.finish().await;
                }
            }
            None => drop(self.response.try_send(respond(message))),
        }
    }
}

impl MessageSink for LazyEvents {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'_, bool> {
        self.opened().send(message)
    }

    fn keep_alive(&self) -> BoxFuture<'_, bool> {
        self.opened().keep_alive()
    }

    fn closed(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.stream.get().is_none() {
                // The response was taken, or its client has gone away.
                self.response.closed().await;
            }
            if let Some(stream) = self.stream.get() {
                stream.sink().closed().await;
            }
        })
    }
}
