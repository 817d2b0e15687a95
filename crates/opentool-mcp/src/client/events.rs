//! What a server says unasked: [`LiveEvents`] takes it from the transport, in the order in which it came.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opentool_core::ChangeSignal;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ProgressNotificationParam, ProgressToken, RequestId, ServerJsonRpcMessage,
    ServerNotification,
};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::questions::ServerQuestions;

/// How many reports of progress may wait for a call to look at them; more are dropped.
const BACKLOG: usize = 64;

/// Whether the list of tools that is known still holds. It outlives connections.
#[derive(Default)]
pub(crate) struct ListState {
    is_stale: AtomicBool,
    pub(crate) signal: ChangeSignal,
}

impl ListState {
    /// Notes that the list may have changed.
    pub(crate) fn expire(&self) {
        self.is_stale.store(true, Ordering::Release);
    }

    /// Notes that the list is asked for now.
    pub(crate) fn renew(&self) {
        self.is_stale.store(false, Ordering::Release);
    }

    pub(crate) fn is_stale(&self) -> bool {
        self.is_stale.load(Ordering::Acquire)
    }
}

/// Passes on what comes over one connection.
pub(crate) struct LiveEvents {
    pub(crate) list: Arc<ListState>,
    pub(crate) questions: ServerQuestions,
    progress: Mutex<Routes>,
}

#[derive(Default)]
struct Routes {
    calls: HashMap<ProgressToken, mpsc::Sender<ProgressNotificationParam>>,
    /// What came before the call that it is for was known here.
    early: VecDeque<ProgressNotificationParam>,
    /// The request of the older handshake that waits for its answer.
    handshake: Option<RequestId>,
    /// Whether the server answered the discovery after it was given up.
    was_discovered_late: bool,
}

/// The progress of one call, until it is dropped.
pub(crate) struct ProgressRoute {
    events: Arc<LiveEvents>,
    token: ProgressToken,
    receiver: mpsc::Receiver<ProgressNotificationParam>,
}

impl LiveEvents {
    pub(crate) fn new(list: Arc<ListState>) -> Self {
        Self { list, questions: ServerQuestions::default(), progress: Mutex::default() }
    }

    fn routes(&self) -> MutexGuard<'_, Routes> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what reports the progress of a call.
    pub(crate) fn progress_of(self: &Arc<Self>, token: &ProgressToken) -> ProgressRoute {
        let (sender, receiver) = mpsc::channel(BACKLOG);
        let mut routes = self.routes();
        routes.early.retain(|progress| {
            let is_of_call = progress.progress_token == *token;
            if is_of_call {
                // There is room: fewer than that are kept.
                let _ = sender.try_send(progress.clone());
            }
            !is_of_call
        });
        routes.calls.insert(token.clone(), sender);
        drop(routes);
        ProgressRoute { events: self.clone(), token: token.clone(), receiver }
    }

    fn observe_sent(&self, message: &ClientJsonRpcMessage) {
        if let ClientJsonRpcMessage::Request(sent) = message
            && matches!(sent.request, ClientRequest::InitializeRequest(_))
        {
            self.routes().handshake = Some(sent.id.clone());
        }
    }

    /// Says whether a message answers what was asked before the older handshake: a server that takes long to start answers the
    /// discovery after it was given up, which would end the handshake.
    fn is_late(&self, message: &ServerJsonRpcMessage) -> bool {
        let id = match message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => return false,
        };
        let mut routes = self.routes();
        match (&routes.handshake, id) {
            (Some(handshake), Some(id)) if handshake != id => {
                routes.was_discovered_late |= matches!(message, ServerJsonRpcMessage::Response(_));
                true
            }
            (Some(_), Some(_)) => {
                routes.handshake = None;
                false
            }
            _ => false,
        }
    }

    /// Says whether the server speaks a newer revision, and said so after the older handshake had begun.
    pub(crate) fn was_discovered_late(&self) -> bool {
        self.routes().was_discovered_late
    }

    fn observe(&self, message: &ServerJsonRpcMessage) {
        let ServerJsonRpcMessage::Notification(message) = message else { return };
        match &message.notification {
            ServerNotification::ToolListChangedNotification(_) => {
                self.list.expire();
                self.list.signal.send();
            }
            ServerNotification::ProgressNotification(progress) => {
                let mut routes = self.routes();
                if let Some(call) = routes.calls.get(&progress.params.progress_token) {
                    // A call that does not keep up misses some of it.
                    let _ = call.try_send(progress.params.clone());
                } else {
                    if routes.early.len() == BACKLOG / 2 {
                        routes.early.pop_front();
                    }
                    routes.early.push_back(progress.params.clone());
                }
            }
            _ => {}
        }
    }
}

impl ProgressRoute {
    /// Waits for the next report.
    pub(crate) async fn next(&mut self) -> Option<ProgressNotificationParam> {
        self.receiver.recv().await
    }

    /// Returns the next report, if there is one already.
    pub(crate) fn ready(&mut self) -> Option<ProgressNotificationParam> {
        self.receiver.try_recv().ok()
    }
}

impl Drop for ProgressRoute {
    fn drop(&mut self) {
        self.events.routes().calls.remove(&self.token);
    }
}

/// A transport whose messages are looked at before rmcp gets them, which handles notifications in any order.
pub(crate) struct Watched<T> {
    pub(crate) transport: T,
    pub(crate) events: Arc<LiveEvents>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Watched<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.events.observe_sent(&message);
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.transport.receive().await?;
            if !self.events.is_late(&message) {
                self.events.observe(&message);
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn sent(json: &str) -> ClientJsonRpcMessage {
        serde_json::from_str(json).unwrap()
    }

    fn received(json: &str) -> ServerJsonRpcMessage {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_late_answer_to_the_discovery_does_not_end_the_handshake() {
        let events = LiveEvents::new(Arc::default());
        let discovered = received(r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"unknown"}}"#);
        let initialized = received(
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
        );
        events.observe_sent(&sent(r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#));
        assert!(!events.is_late(&discovered), "it is waited for");
        events.observe_sent(&sent(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
        ));
        assert!(events.is_late(&discovered));
        assert!(!events.was_discovered_late(), "it knows no discovery");
        assert!(!events.is_late(&initialized));
        assert!(
            !events.is_late(&received(r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}"#)),
            "the handshake is over"
        );
    }
}
