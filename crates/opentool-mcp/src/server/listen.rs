//! Streams that tell a client of changed tools.

use std::time::Duration;

use opentool_core::{Cancellation, Host, ToolChanges};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::answer;
use super::engine;
use super::error::ProtocolError;
use super::json_text::JsonText;
use super::message::Params;
use super::result::{Envelope, ServerMeta};
use super::sink::MessageSink;

/// How often a stream on which nothing happens shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(25);

const LIST_CHANGED: &str = "notifications/tools/list_changed";

/// Which notifications a client wants, of those that there are.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Filter {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    tools_list_changed: bool,
}

impl Filter {
    /// Reads the parameters of `subscriptions/listen`.
    pub(crate) fn read(params: &Params<'_>) -> Result<Self, ProtocolError> {
        let given = params.notifications.filter(|given| given.is_object());
        let given = given.ok_or_else(|| ProtocolError::invalid_params("`notifications` must be an object"))?;
        serde_json::from_str(given.get())
            .map_err(|error| ProtocolError::invalid_params(format!("`notifications` cannot be used: {error}")))
    }
}

#[derive(Serialize)]
struct Acknowledged<'a> {
    #[serde(rename = "_meta")]
    meta: ServerMeta<'a>,
    notifications: Filter,
}

#[derive(Serialize)]
struct Changed<'a> {
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<ServerMeta<'a>>,
}

/// Serves a subscription until the client is gone, the server stops or, where it can, the client cancels it.
pub(crate) async fn subscribe(host: &Host, id: JsonText<'_>, filter: Filter, sink: &dyn MessageSink, end: End<'_>) {
    let changes = engine::changes(host).filter(|_| filter.tools_list_changed);
    let honoured = Filter { tools_list_changed: changes.is_some() };
    let meta = ServerMeta::of_subscription(id);
    let acknowledged = Acknowledged { meta, notifications: honoured };
    if !sink.send(answer::notification("notifications/subscriptions/acknowledged", acknowledged)).await {
        return;
    }
    if let Ended::Stopped = forward(changes, Some(meta), sink, end).await {
        let _ = sink.send(answer::result(id, Envelope::end_of_subscription(id))).await;
    }
}

/// Serves the stream of a session, or a client on stdio, of the revisions before subscriptions.
pub(crate) async fn notify(changes: ToolChanges, sink: &dyn MessageSink, end: End<'_>) {
    forward(Some(changes), None, sink, end).await;
}

/// What ends a stream besides the client.
#[derive(Clone, Copy)]
pub(crate) struct End<'a> {
    /// The server stops.
    pub(crate) stopping: &'a Cancellation,
    /// The client has cancelled it, or its session is over.
    pub(crate) cancelled: &'a Cancellation,
}

enum Ended {
    Stopped,
    Gone,
}

async fn forward(
    mut changes: Option<ToolChanges>,
    meta: Option<ServerMeta<'_>>,
    sink: &dyn MessageSink,
    end: End<'_>,
) -> Ended {
    let mut alive = interval_at(Instant::now() + KEEP_ALIVE, KEEP_ALIVE);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let reads = tokio::select! {
            biased;
            () = end.cancelled.cancelled() => return Ended::Gone,
            () = sink.closed() => return Ended::Gone,
            changed = next_change(changes.as_mut()) => {
                if !changed {
                    // The source is gone, and so are its changes.
                    changes = None;
                    continue;
                }
                sink.send(answer::notification(LIST_CHANGED, Changed { meta })).await
            }
            () = end.stopping.cancelled() => return Ended::Stopped,
            _ = alive.tick() => sink.keep_alive().await,
        };
        if !reads {
            return Ended::Gone;
        }
    }
}

async fn next_change(changes: Option<&mut ToolChanges>) -> bool {
    match changes {
        Some(changes) => changes.changed().await,
        None => std::future::pending().await,
    }
}
