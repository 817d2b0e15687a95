//! Messages a line each, with a program: [`LineTransport`].

use std::io;
use std::sync::Arc;

use rmcp::model::{ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;

use super::end_report::EndReport;
use super::text::shown;
use crate::line_reader::{BoundedLine, LineReader};

/// Speaks with a program over its standard streams.
pub(crate) struct LineTransport<R, W> {
    lines: LineReader<R>,
    /// None once it is closed.
    writer: Arc<Mutex<Option<W>>>,
    limit: usize,
    report: Arc<EndReport>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> LineTransport<R, W> {
    pub(crate) fn new(reader: R, writer: W, limit: usize, report: Arc<EndReport>) -> Self {
        Self { lines: LineReader::new(reader, limit), writer: Arc::new(Mutex::new(Some(writer))), limit, report }
    }
}

impl<R, W> Transport<RoleClient> for LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let writer = self.writer.clone();
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut writer = writer.lock().await;
            let writer = writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            writer.write_all(&line).await?;
            writer.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = match self.lines.next().await {
                Ok(Some(BoundedLine::Whole(line))) => line,
                Ok(Some(BoundedLine::Beginning(_))) => {
                    self.report.fault(format!("it sent a message of more than {} bytes", self.limit));
                    return None;
                }
                Ok(None) => return None,
                Err(error) => {
                    self.report.fault(format!("its answers cannot be read: {error}"));
                    return None;
                }
            };
            if let Some(message) = read_message(line.trim_ascii()) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.writer.lock().await.take();
        Ok(())
    }
}

/// Reads a message. An answer that cannot be read becomes an error for the caller that waits for it; anything else is skipped.
fn read_message(text: &[u8]) -> Option<ServerJsonRpcMessage> {
    if text.is_empty() {
        return None;
    }
    match serde_json::from_slice(text) {
        Ok(message) => Some(message),
        Err(error) => {
            let line = shown(&String::from_utf8_lossy(text));
            tracing::debug!(target: "opentool::mcp", %error, line, "the server wrote a line that is no message");
            unreadable_answer(text)
        }
    }
}

/// The error for an answer that cannot be read, where it says whose it is.
pub(crate) fn unreadable_answer(text: &[u8]) -> Option<ServerJsonRpcMessage> {
    #[derive(Deserialize)]
    struct Head {
        id: RequestId,
        method: Option<String>,
    }
    let head: Head = serde_json::from_slice(text).ok()?;
    let error = ErrorData::internal_error("the server's answer does not follow the protocol", None);
    head.method.is_none().then(|| ServerJsonRpcMessage::error(error, Some(head.id)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_answer_that_cannot_be_read_is_an_error_to_who_waits_for_it() {
        let read = |text: &str| read_message(text.as_bytes()).map(|message| serde_json::to_value(message).unwrap());
        assert_eq!(read("Listening on stdio"), None);
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":7}"#).unwrap()["id"], 7);
        assert!(read(r#"{"jsonrpc":"2.0","id":7}"#).unwrap()["error"]["message"].is_string());
        assert!(read(r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#).unwrap()["result"].is_object());
    }
}
