//! The interface of what stands around a model: [`ModelMiddleware`].

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;

use crate::delta::Delta;
use crate::error::ChatError;
use crate::provider::{ModelRequest, Provider};
use crate::response::ChatResponse;
use crate::response_format::TypedAnswers;

/// Stands around every request to a model: waits, changes the request or the answer, asks again, or asks another model.
///
/// [`ChatModelBuilder::middleware`](crate::ChatModelBuilder::middleware) puts it there. It sees one round at a time, as the
/// provider does, and both ways of asking: a turn that is streamed asks by `stream`, any other by `call`. Retries of requests
/// that failed before an answer began are the provider's own.
///
/// ```
/// use std::time::Instant;
///
/// use opentool_chat::testing::{Reply, ScriptedModel};
/// use opentool_chat::{
///     BoxFuture, BoxStream, ChatClient, ChatError, ChatModel, ChatResponse, Delta, ModelMiddleware, ModelRequest, Provider,
/// };
///
/// struct Timed;
///
/// impl ModelMiddleware for Timed {
///     fn call<'a>(
///         &'a self,
///         request: ModelRequest<'a>,
///         next: &'a dyn Provider,
///     ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
///         Box::pin(async move {
///             let start = Instant::now();
///             let answer = next.call(request).await;
///             eprintln!("{} took {:?}", next.name(), start.elapsed());
///             answer
///         })
///     }
///
///     fn stream<'a>(&'a self, request: ModelRequest<'a>, next: &'a dyn Provider) -> BoxStream<'a, Result<Delta, ChatError>> {
///         next.stream(request)
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let model = ChatModel::builder(ScriptedModel::new([Reply::text("Hello.")])).middleware(Timed).build();
/// assert_eq!(ChatClient::new(model).prompt("Hi.").call().await?.text(), "Hello.");
/// # Ok::<(), ChatError>(())
/// # }).unwrap();
/// ```
pub trait ModelMiddleware: Send + Sync + 'static {
    /// Asks for a whole answer; `next` is the provider, or the middleware below.
    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        next: &'a dyn Provider,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>>;

    /// Asks for an answer in pieces; `next` is the provider, or the middleware below.
    fn stream<'a>(
        &'a self,
        request: ModelRequest<'a>,
        next: &'a dyn Provider,
    ) -> BoxStream<'a, Result<Delta, ChatError>>;

    /// Says how a model can be held to the form of an answer, given how the one below can; a middleware that asks other models
    /// answers with what all of them can.
    fn typed_answers(&self, below: TypedAnswers, with_tools: bool) -> TypedAnswers {
        let _ = with_tools;
        below
    }
}
