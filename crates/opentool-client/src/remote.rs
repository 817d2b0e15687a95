//! A function of a server as a tool.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opentool_core::{BoxFuture, Invocation, Tool, ToolContext, ToolDefinition, ToolError, ToolMetadata, ToolOutput};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::timeout;

use crate::ClientError;
use crate::link::{Link, Outgoing};
use crate::stream::{Piece, RESULT_NAMED, Reader, Role, STREAM_CALL};

pub(crate) struct RemoteTool {
    definition: ToolDefinition,
    metadata: ToolMetadata,
    returns: Returns,
    link: Arc<Link>,
}

/// What the document says about a function's result.
struct Returns {
    /// The name under which a result that is no object stands in the answer.
    wrapped_in: Option<String>,
    /// Whether the result is text.
    text: bool,
}

impl RemoteTool {
    pub(crate) fn new(definition: ToolDefinition, metadata: ToolMetadata, link: Arc<Link>) -> Self {
        let declared = definition.output_schema().and_then(|schema| schema.get("type")).and_then(Value::as_str);
        let returns = Returns {
            wrapped_in: definition.output_name().filter(|_| declared != Some("object")).map(ToOwned::to_owned),
            text: declared == Some("string"),
        };
        Self { definition, metadata, returns, link }
    }

    /// Calls the function and passes on what it gives back meanwhile, where the server can do that.
    async fn call_watched(
        &self,
        id: &str,
        params: Box<RawValue>,
        context: &ToolContext,
    ) -> Result<Option<Box<RawValue>>, ClientError> {
        let name = self.definition.name();
        let request =
            Outgoing::call(STREAM_CALL, id, name, params.clone())?.accepting(RESULT_NAMED).in_trace_of(context);
        let time = context.remaining().unwrap_or(self.link.settings.timeout);
        let mut heard = Heard::default();
        let reader = Reader::new(self.link.clone(), Ok(request), time);
        let listening = timeout(time, self.listen(reader, context, &mut heard));
        let answered = match context.cancellation().guard(listening).await {
            None => Err(ClientError::Cancelled),
            Some(in_time) => in_time.unwrap_or(Err(ClientError::Timeout { after: time })),
        };
        match answered {
            Ok(()) => Ok(heard.result),
            // Nobody has seen the call yet, or seeing it twice does no harm.
            Err(_) if !self.link.may_stream() => self.link.call(id, name, params, context).await,
            Err(error) if error.is_transient() && !heard.anything && self.link.is_repeatable(name) => {
                self.link.call(id, name, params, context).await
            }
            Err(error) => Err(self.link.harmless(error)),
        }
    }

    async fn listen(&self, mut reader: Reader, context: &ToolContext, heard: &mut Heard) -> Result<(), ClientError> {
        while let Some(Piece { value, role }) = reader.next().await? {
            heard.anything = true;
            // What came last is the result, for all that such a server says; so that is not passed on before the next.
            let emitted = match role {
                Role::Emitted => value,
                Role::Result | Role::Either => std::mem::replace(&mut heard.result, value),
            };
            if let Some(value) = emitted {
                context.emit(self.returns.output(value)).await;
            }
        }
        Ok(())
    }
}

/// What has come of an answer so far.
#[derive(Default)]
struct Heard {
    anything: bool,
    result: Option<Box<RawValue>>,
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
            let params = arguments.parse::<Box<RawValue>>()?;
            let fresh;
            let id = match context.call_id() {
                "" => {
                    fresh = fresh_id();
                    &fresh
                }
                id => id,
            };
            let result = if context.is_watched() && self.link.may_stream() {
                Box::pin(self.call_watched(id, params, context)).await?
            } else {
                self.link.call(id, self.definition.name(), params, context).await?
            };
            Ok(result.map_or(ToolOutput::Empty, |result| self.returns.output(result)))
        })
    }
}

impl Returns {
    fn output(&self, result: Box<RawValue>) -> ToolOutput {
        let result = match self.taken_out(&result) {
            Some(value) => value,
            None => result,
        };
        match result.get() {
            "null" | "{}" => ToolOutput::Empty,
            text if self.text && text.starts_with('"') => match serde_json::from_str(text) {
                Ok(text) => ToolOutput::Text(text),
                Err(_) => ToolOutput::Json(result),
            },
            _ => ToolOutput::Json(result),
        }
    }

    /// The value that stands alone in an object under the name of the return.
    fn taken_out(&self, result: &RawValue) -> Option<Box<RawValue>> {
        let name = self.wrapped_in.as_deref()?;
        // Nothing but an object with one member is read further than its first few bytes.
        if !result.get().starts_with('{') {
            return None;
        }
        let mut members: HashMap<String, &RawValue> = serde_json::from_str(result.get()).ok()?;
        let value = members.remove(name)?;
        (members.is_empty() && !value.get().starts_with('{')).then(|| value.to_owned())
    }
}

/// An id for a call whose caller gave it none.
fn fresh_id() -> String {
    static CALLS: AtomicU64 = AtomicU64::new(1);
    format!("call-{}", CALLS.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn output(declared: &str, result: &str) -> ToolOutput {
        let returns =
            Returns { wrapped_in: (declared != "object").then(|| "sum".to_owned()), text: declared == "string" };
        returns.output(RawValue::from_string(result.to_owned()).unwrap())
    }

    fn json(text: &str) -> ToolOutput {
        ToolOutput::Json(RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn a_value_is_taken_out_of_the_object_that_the_wire_put_it_into() {
        assert_eq!(output("integer", r#"{"sum":123456789012345678901}"#), json("123456789012345678901"));
        assert_eq!(output("array", r#"{ "sum" : [1, 2] }"#), json("[1, 2]"));
        assert_eq!(output("string", r#"{"sum":"a\nb"}"#), ToolOutput::text("a\nb"));
        assert_eq!(output("string", r#""bare""#), ToolOutput::text("bare"));
        assert_eq!(output("integer", r#"{"sum":null}"#), ToolOutput::Empty);
    }

    #[test]
    fn any_other_object_stays_as_it_is() {
        for (declared, result) in [
            ("object", r#"{"sum":1}"#),
            ("integer", r#"{"sum":1,"carry":0}"#),
            ("integer", r#"{"total":1}"#),
            ("integer", r#"{"sum":{"value":1}}"#),
            ("integer", "[1]"),
        ] {
            assert_eq!(output(declared, result), json(result));
        }
        assert_eq!(output("object", "{}"), ToolOutput::Empty);
    }
}
