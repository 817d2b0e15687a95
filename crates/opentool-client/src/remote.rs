//! A function of a server as a tool: [`RemoteTool`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use opentool_core::{
    Arguments, BoxFuture, ErrorKind, Invocation, MemoryBudget, MemoryReservation, Tool, ToolContext, ToolDefinition,
    ToolError, ToolMetadata, ToolOutput,
};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::connection::Connection;
use crate::error::ClientError;
use crate::output::ReturnShape;
use crate::request::{ServerRequest, call_body};
use crate::response::CallResult;
use crate::stream::{CallReader, RESULT_NAMED, STREAM_CALL, StreamedValue, ValueRole};

/// The content type of an answer that holds an output of several parts in core's own form.
const TYPED_OUTPUT: &str = "application/json;output=typed";

pub(crate) struct RemoteTool {
    definition: ToolDefinition,
    metadata: ToolMetadata,
    shape: ReturnShape,
    connection: Arc<Connection>,
}

impl RemoteTool {
    pub(crate) fn new(definition: ToolDefinition, metadata: ToolMetadata, connection: Arc<Connection>) -> Self {
        let shape = ReturnShape::new(&definition);
        Self { definition, metadata, shape, connection }
    }

    /// Calls the function and waits for its result.
    async fn call_plain(&self, body: Bytes, context: &ToolContext) -> Result<CallResult, ClientError> {
        let request = self.connection.call_request(self.definition.name(), body).accepting(TYPED_OUTPUT);
        self.connection.call(request, context).await
    }

    /// Calls the function and emits the values that it returns while it runs, if the server can stream.
    async fn call_watched(&self, body: Bytes, context: &ToolContext) -> Result<CallResult, ClientError> {
        let name = self.definition.name();
        let request = ServerRequest::call(STREAM_CALL, body.clone()).accepting(RESULT_NAMED).for_call_of(context);
        let time = context.remaining().unwrap_or(self.connection.config.timeout);
        let mut received = Received::default();
        let reader = CallReader::new(self.connection.clone(), Ok(request), time);
        let reading = timeout(time, self.read(reader, context, &mut received));
        let answered = match context.cancellation().guard(reading).await {
            None => Err(ClientError::Cancelled),
            Some(in_time) => in_time.unwrap_or_else(|_| Err(ClientError::timeout(time))),
        };
        if self.connection.may_stream() {
            self.connection.note_state(&answered);
        }
        match answered {
            Ok(()) => Ok(received.result),
            // The server has no route for streams, so the call has not run.
            Err(_) if !self.connection.may_stream() => self.call_plain(body, context).await,
            Err(error) if error.is_transient() && !received.anything && self.connection.is_repeatable(name) => {
                self.call_plain(body, context).await
            }
            Err(error) => Err(self.connection.redact(error)),
        }
    }

    async fn read(
        &self,
        mut reader: CallReader,
        context: &ToolContext,
        received: &mut Received,
    ) -> Result<(), ClientError> {
        while let Some(StreamedValue { result, role }) = reader.next().await? {
            received.anything = true;
            // If the server does not name the result, it is the last value: one is emitted only when the next has come.
            let emitted = match role {
                ValueRole::Emitted => result,
                ValueRole::Result | ValueRole::Unknown => std::mem::replace(&mut received.result, result),
            };
            if !emitted.is_empty() {
                context.emit(self.shape.output(emitted)).await;
            }
        }
        Ok(())
    }

    /// The error of a call. After a timeout the call may still run, so only one that may be repeated is retryable.
    fn error(&self, error: ClientError) -> ToolError {
        let error = ToolError::from(error);
        match error.kind() {
            ErrorKind::Timeout => error.with_retryable(self.metadata.is_repeatable()),
            _ => error,
        }
    }
}

/// What has come of an answer so far.
#[derive(Default)]
struct Received {
    anything: bool,
    result: CallResult,
}

impl Tool for RemoteTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.metadata
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Invocation { arguments, context, .. } = invocation;
            let fresh;
            let id = match context.call_id() {
                "" => {
                    fresh = fresh_id();
                    &fresh
                }
                id => id,
            };
            let (body, _reservation) = write_body(id, self.definition.name(), arguments, context).await?;
            let result = if context.is_watched() && self.connection.may_stream() {
                Box::pin(self.call_watched(body, context)).await
            } else {
                self.call_plain(body, context).await
            };
            result.map(|result| self.shape.output(result)).map_err(|error| self.error(error))
        })
    }
}

/// Longer arguments are written on another thread, with the memory of the context's budget where it has one.
const LONG: usize = 64 * 1024;

async fn write_body(
    id: &str,
    name: &str,
    arguments: &Arguments,
    context: &ToolContext,
) -> Result<(Bytes, MemoryReservation), ToolError> {
    let mut reservation = MemoryReservation::default();
    let length = arguments.as_str().len();
    let runtime = Handle::try_current().ok().filter(|_| length > LONG);
    let Some(runtime) = runtime else {
        return Ok((call_body(id, name, arguments.parse()?)?, reservation));
    };
    if let Some(budget) = context.typed::<MemoryBudget>()
        && reservation.grow(budget, length).is_err()
    {
        let message = "there is no memory left to forward the call: try again, or send shorter arguments";
        return Err(ToolError::unavailable(message));
    }
    let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.clone());
    let writing = runtime.spawn_blocking(move || Ok(call_body(&id, &name, arguments.parse()?)?));
    let written: Result<Bytes, ToolError> = writing.await.unwrap_or_else(|_| Err(ToolError::cancelled()));
    Ok((written?, reservation))
}

/// An id for a call that has none.
fn fresh_id() -> String {
    static CALLS: AtomicU64 = AtomicU64::new(1);
    format!("call-{}", CALLS.fetch_add(1, Ordering::Relaxed))
}
