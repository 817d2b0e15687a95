//! The results of a call as they come: [`CallStream`].

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use futures_util::stream::try_unfold;
use opentool_spec::{FunctionCall, ToolReturn};

use crate::connection::Connection;
use crate::error::ClientError;
use crate::request::{ServerRequest, call_body};
use crate::sdk::{params, tool_return};
use crate::stream::{CallReader, STREAM_CALL};

/// The results of a call, one after the other; an error is the last.
///
/// The stream ends when the server says so or closes the connection. Dropping it closes the connection.
pub struct CallStream(BoxStream<'static, Result<ToolReturn, ClientError>>);

impl CallStream {
    pub(crate) fn new(connection: Arc<Connection>, call: FunctionCall) -> Self {
        let FunctionCall { id, name, arguments, .. } = call;
        let body = params(&arguments).and_then(|params| call_body(&id, &name, &params));
        let request = body.map(|body| ServerRequest::call(STREAM_CALL, body));
        let reader = CallReader::new(connection.clone(), request, connection.config.timeout);
        let results = try_unfold((reader, id), |(mut reader, id)| async move {
            let Some(returned) = reader.next().await? else { return Ok(None) };
            let returned = tool_return(id.clone(), returned.result.value.as_deref())?;
            Ok(Some((returned, (reader, id))))
        });
        Self(results.map(move |item| item.map_err(|error| connection.redact(error))).boxed())
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
