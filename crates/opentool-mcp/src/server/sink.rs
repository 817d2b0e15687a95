//! Where messages go that are not the answer to a request: [`MessageSink`].

use opentool_core::BoxFuture;

/// The client's side of a connection.
pub(crate) trait MessageSink: Send + Sync {
    /// Sends a message; false where the client reads no longer.
    fn send(&self, message: Vec<u8>) -> BoxFuture<'_, bool>;

    /// Sends something that is no message, so that the connection is not taken for dead; false where the client reads no longer.
    fn keep_alive(&self) -> BoxFuture<'_, bool>;

    /// Waits until the client reads no longer.
    fn closed(&self) -> BoxFuture<'_, ()>;
}
