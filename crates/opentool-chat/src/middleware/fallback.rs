//! Another model where the first fails: [`Fallback`].

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, stream};
use tracing::warn;

use super::interface::ModelMiddleware;
use crate::delta::Delta;
use crate::error::ChatError;
use crate::options::ChatOptions;
use crate::provider::{ModelRequest, Provider};
use crate::response::ChatResponse;
use crate::response_format::TypedAnswers;

/// Another model for requests that fail, never once an answer has begun.
///
/// It is asked where [`ChatError::is_retryable`] says that the failure may pass, unless [`when`](Self::when) decides; the provider's
/// own retries come first. It is asked for its own default model, since a model that the options name is the other provider's. Several fallbacks are asked one
/// after the other: each is a middleware around the one before.
///
/// ```
/// use opentool_chat::testing::{Reply, ScriptedModel};
/// use opentool_chat::{ChatClient, ChatError, ChatModel, Fallback};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let first = ScriptedModel::new([Reply::error(ChatError::refused("first", 503, "overloaded"))]);
/// let second = ScriptedModel::new([Reply::text("Hello.")]);
/// let model = ChatModel::builder(first).middleware(Fallback::to(second)).build();
/// assert_eq!(ChatClient::new(model).prompt("Hi.").call().await?.text(), "Hello.");
/// # Ok::<(), ChatError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Fallback {
    provider: Arc<dyn Provider>,
    when: Arc<dyn Fn(&ChatError) -> bool + Send + Sync>,
}

impl Fallback {
    /// Asks this provider where the one before it fails.
    pub fn to(provider: impl Provider) -> Self {
        Self { provider: Arc::new(provider), when: Arc::new(ChatError::is_retryable) }
    }

    /// Sets after which errors the other model is asked.
    #[must_use]
    pub fn when(mut self, decide: impl Fn(&ChatError) -> bool + Send + Sync + 'static) -> Self {
        self.when = Arc::new(decide);
        self
    }

    fn takes_over(&self, error: &ChatError) -> bool {
        let takes_over = (self.when)(error);
        if takes_over {
            let other = self.provider.name();
            warn!(target: "opentool::chat", %error, other, "the model failed; another one is asked");
        }
        takes_over
    }
}

/// The options for another provider, which does not know the models of the first.
fn options_of(request: ModelRequest<'_>) -> ChatOptions {
    ChatOptions { model: None, ..request.options.clone() }
}

/// Says whether a piece is a part of the answer that a reader may have seen.
fn is_content(delta: &Delta) -> bool {
    match delta {
        Delta::Text(text) | Delta::Reasoning(text) => !text.is_empty(),
        Delta::ToolCall(_) | Delta::ProviderData { .. } | Delta::Finish(_) => true,
        Delta::Begin { .. } | Delta::Usage(_) | Delta::Metadata(_) => false,
    }
}

impl ModelMiddleware for Fallback {
    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        next: &'a dyn Provider,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        Box::pin(async move {
            match next.call(request).await {
                Err(error) if self.takes_over(&error) => {
                    let options = options_of(request);
                    self.provider.call(ModelRequest { options: &options, ..request }).await
                }
                answered => answered,
            }
        })
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest<'a>,
        next: &'a dyn Provider,
    ) -> BoxStream<'a, Result<Delta, ChatError>> {
        stream::once(async move {
            let mut first = next.stream(request);
            // What comes before the content is held back, so that a failure until then leaves nothing behind.
            let mut held = Vec::new();
            loop {
                match first.next().await {
                    Some(Err(error)) if self.takes_over(&error) => return self.other_stream(request),
                    Some(delta) => {
                        let is_begun = delta.as_ref().map_or(true, is_content);
                        held.push(delta);
                        if is_begun {
                            break;
                        }
                    }
                    None => break,
                }
            }
            stream::iter(held).chain(first).boxed()
        })
        .flatten()
        .boxed()
    }

    fn typed_answers(&self, below: TypedAnswers, with_tools: bool) -> TypedAnswers {
        match (below, self.provider.typed_answers(with_tools)) {
            (TypedAnswers::Native, TypedAnswers::Native) => TypedAnswers::Native,
            (TypedAnswers::Prompt, _) | (_, TypedAnswers::Prompt) => TypedAnswers::Prompt,
            _ => TypedAnswers::ForcedTool,
        }
    }
}

impl Fallback {
    fn other_stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, Result<Delta, ChatError>> {
        let options = options_of(request);
        // The stream borrows the options, so both live in one future.
        let (provider, messages, tools) = (self.provider.clone(), request.messages, request.tools);
        owned_stream(provider, options, messages, tools)
    }
}

/// The stream of a request whose options it holds itself.
fn owned_stream<'a>(
    provider: Arc<dyn Provider>,
    options: ChatOptions,
    messages: &'a [crate::message::Message],
    tools: &'a crate::definitions::ToolDefinitions,
) -> BoxStream<'a, Result<Delta, ChatError>> {
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    let asking = async move {
        let mut deltas = provider.stream(ModelRequest { messages, options: &options, tools });
        while let Some(delta) = deltas.next().await {
            if sender.send(delta).await.is_err() {
                return;
            }
        }
    };
    let received =
        stream::unfold(receiver, |mut receiver| async move { receiver.recv().await.map(|delta| (delta, receiver)) });
    // The future is polled with the stream and yields nothing itself.
    let asking = stream::once(asking).filter_map(|()| std::future::ready(None));
    stream::select(asking, received).boxed()
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fallback").field("provider", &self.provider.name()).finish_non_exhaustive()
    }
}
