//! Messages a line each, with a program: [`LineTransport`].

use std::io;
use std::sync::Arc;

use rmcp::model::{ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use super::end_report::EndReport;
use super::text::shown;

/// Reads lines of which at most so many bytes are kept. A read that is dropped halfway loses nothing.
pub(crate) struct LineReader<R> {
    reader: BufReader<R>,
    limit: usize,
    line: Vec<u8>,
    /// Whether the rest of a line that was too long is still to be skipped.
    skipping: bool,
}

/// A line, or as much of it as may be kept.
pub(crate) enum BoundedLine {
    Whole(Vec<u8>),
    /// There is more, which is skipped.
    Beginning(Vec<u8>),
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(reader: R, limit: usize) -> Self {
        Self { reader: BufReader::new(reader), limit, line: Vec::new(), skipping: false }
    }

    /// Reads the next line; none at the end.
    pub(crate) async fn next(&mut self) -> io::Result<Option<BoundedLine>> {
        loop {
            let buffer = self.reader.fill_buf().await?;
            if buffer.is_empty() {
                let rest = std::mem::take(&mut self.line);
                return Ok((!rest.is_empty()).then_some(BoundedLine::Whole(rest)));
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            let read = piece.len() + usize::from(end.is_some());
            let is_kept = !self.skipping;
            let mut is_too_long = false;
            if is_kept {
                let room = self.limit - self.line.len();
                is_too_long = piece.len() > room;
                self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            self.reader.consume(read);
            self.skipping = (self.skipping || is_too_long) && end.is_none();
            if is_too_long {
                return Ok(Some(BoundedLine::Beginning(std::mem::take(&mut self.line))));
            }
            if is_kept && end.is_some() {
                return Ok(Some(BoundedLine::Whole(std::mem::take(&mut self.line))));
            }
        }
    }
}

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

    #[tokio::test]
    async fn the_beginning_of_a_long_line_is_kept_and_the_rest_is_skipped() {
        let input = format!("one\n{}\n\ntwo", "x".repeat(100_000));
        let mut reader = LineReader::new(input.as_bytes(), 10);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            lines.push(match line {
                BoundedLine::Whole(line) => String::from_utf8(line).unwrap(),
                BoundedLine::Beginning(line) => String::from_utf8(line).unwrap() + "…",
            });
        }
        assert_eq!(lines, ["one", "xxxxxxxxxx…", "", "two"]);
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_an_error_to_who_waits_for_it() {
        let read = |text: &str| read_message(text.as_bytes()).map(|message| serde_json::to_value(message).unwrap());
        assert_eq!(read("Listening on stdio"), None);
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":7}"#).unwrap()["id"], 7);
        assert!(read(r#"{"jsonrpc":"2.0","id":7}"#).unwrap()["error"]["message"].is_string());
        assert!(read(r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#).unwrap()["result"].is_object());
    }
}
