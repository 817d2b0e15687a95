//! Asking a model once: [`Provider`].

use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;

use super::request::ModelRequest;
use crate::{ChatError, ChatResponse, Delta, TypedAnswers};

/// Asks a model once: a conversation goes out, one answer comes back.
///
/// A provider runs no tools, keeps no history and knows nothing of rounds; [`ChatModel`](crate::ChatModel) does that, once
/// for all providers. What an implementation must do:
///
/// - It sends [`ModelRequest::messages`] as they are, in order, and all of them. A [tool message](crate::ToolMessage) has the
///   answers to every call of the assistant message before it; whether they become one message on the wire or several is up
///   to the provider. A failed answer's [error](crate::ToolAnswer::error) is mapped if the wire has a flag for it. The
///   arguments of a call may be no JSON, because a model wrote them: if the wire demands an object, such a text is sent as
///   `{}`. An assistant message may be empty.
/// - It follows [`ModelRequest::options`], which are merged already: model, temperature, tokens, stop, tool choice, parallel calls,
///   response format, reasoning, extra. What is not set is not sent. Tools, names, context and internal execution do not concern it. The tool choice
///   is already the one of this round.
/// - It takes the tools from [`ToolDefinitions::wire`](crate::ToolDefinitions::wire), which writes them once per request.
/// - It takes [media](crate::Media) in the form that its wire has. What it cannot take is an error before anything is sent if the
///   user said it, and left out of a tool's answer, whose text names its type and size.
/// - It reads leniently: a missing finish reason, id, index or usage, unknown fields and arguments that are an object instead of
///   a string are all ordinary. It keeps empty and repeated ids as they come, since the model replaces them.
/// - It keeps what it must see again in [`AssistantMessage::provider_data`](crate::AssistantMessage::provider_data), under its own
///   [`name`](Self::name), and reads no other provider's.
/// - It retries what may pass (429, 5xx) before the first piece of an answer, and only then returns a [`ChatError`]. Keys are in
///   no error and no `Debug`.
/// - Dropping the future or the stream ends the request.
/// - Before it sends anything over a network it calls [`permit_request`].
///
/// It is object safe; an `Arc` or `Box` of a provider is a provider.
pub trait Provider: Send + Sync + 'static {
    /// Returns the name in OpenTelemetry's words (`gen_ai.provider.name`), for instance `openai`, `anthropic` or `ollama`.
    fn name(&self) -> &str;

    /// Returns the model that is asked if the options name none.
    fn model(&self) -> Option<&str>;

    /// Returns the host and the port that requests go to, for spans; none if nothing leaves the process.
    fn server(&self) -> Option<(&str, u16)>;

    /// Says how the provider holds a model to the form of an answer, in a request with tools or without.
    ///
    /// [`ModelRequest::options`] have a response format only where this is [`TypedAnswers::Native`].
    fn typed_answers(&self, with_tools: bool) -> TypedAnswers;

    /// Asks and waits for the whole answer.
    ///
    /// The response has at least one generation, its finish reason and, if they are known, usage, id and model.
    fn call<'a>(&'a self, request: ModelRequest<'a>) -> BoxFuture<'a, Result<ChatResponse, ChatError>>;

    /// Asks and returns the answer in pieces, as they come.
    ///
    /// One chunk on the wire may be several [`Delta`]s: text, reasoning and calls of the same chunk all count. An error is the
    /// last item. A stream that breaks off before its end was announced ends with an error, so that half an answer is not
    /// taken for a whole one; if the wire announces no end, the end of the stream is the end. [`Assembly`](crate::Assembly)
    /// makes a response from the pieces; a provider does not have to.
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, Result<Delta, ChatError>>;
}

/// A pointer to a provider is a provider.
macro_rules! provider_behind {
    ($pointer:ident) => {
        impl<P: Provider + ?Sized> Provider for $pointer<P> {
            fn name(&self) -> &str {
                (**self).name()
            }

            fn model(&self) -> Option<&str> {
                (**self).model()
            }

            fn server(&self) -> Option<(&str, u16)> {
                (**self).server()
            }

            fn typed_answers(&self, with_tools: bool) -> TypedAnswers {
                (**self).typed_answers(with_tools)
            }

            fn call<'a>(&'a self, request: ModelRequest<'a>) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
                (**self).call(request)
            }

            fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, Result<Delta, ChatError>> {
                (**self).stream(request)
            }
        }
    };
}

provider_behind!(Arc);
provider_behind!(Box);

/// Says whether a request may leave for a real model, which a test may [forbid](crate::testing::forbid_requests).
///
/// # Errors
///
/// Where it may not.
#[cfg(feature = "testing")]
pub fn permit_request(provider: &str) -> Result<(), ChatError> {
    if crate::guard::requests_are_forbidden() { Err(ChatError::forbidden(provider)) } else { Ok(()) }
}

/// Says whether a request may leave for a real model, which a test may forbid (feature `testing`).
///
/// # Errors
///
/// Never, in a program without the test kit.
#[cfg(not(feature = "testing"))]
pub fn permit_request(_provider: &str) -> Result<(), ChatError> {
    Ok(())
}
