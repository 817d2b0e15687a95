//! A provider with a middleware around it.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;

use super::interface::ModelMiddleware;
use crate::delta::Delta;
use crate::error::ChatError;
use crate::provider::{ModelRequest, Provider};
use crate::response::ChatResponse;
use crate::response_format::TypedAnswers;

/// A provider with a middleware around it.
pub(crate) struct Around<M> {
    provider: Arc<dyn Provider>,
    middleware: M,
}

impl<M: ModelMiddleware> Around<M> {
    pub(crate) fn new(provider: Arc<dyn Provider>, middleware: M) -> Self {
        Self { provider, middleware }
    }
}

impl<M: ModelMiddleware> Provider for Around<M> {
    fn name(&self) -> &str {
        self.provider.name()
    }

    fn model(&self) -> Option<&str> {
        self.provider.model()
    }

    fn server(&self) -> Option<(&str, u16)> {
        self.provider.server()
    }

    fn typed_answers(&self, with_tools: bool) -> TypedAnswers {
        self.middleware.typed_answers(self.provider.typed_answers(with_tools), with_tools)
    }

    fn call<'a>(&'a self, request: ModelRequest<'a>) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        self.middleware.call(request, &*self.provider)
    }

    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, Result<Delta, ChatError>> {
        self.middleware.stream(request, &*self.provider)
    }
}
