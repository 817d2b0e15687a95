//! What a model is made of: [`ChatModelBuilder`].

use std::fmt;
use std::sync::Arc;

use opentool_core::{Executor, Resolver};

use super::chat_model::ChatModel;
use super::eligibility::Eligibility;
use super::parts::ModelParts;
use crate::manager::{DefaultToolCallingManager, ToolCallingManager};
use crate::middleware::{Around, ModelMiddleware};
use crate::options::ChatOptions;
use crate::price::PriceTable;
use crate::provider::Provider;

impl ChatModel {
    /// Makes a model with no default options and the default manager.
    pub fn new(provider: impl Provider) -> Self {
        Self::builder(provider).build()
    }

    /// Starts a model with default options, another executor or another manager.
    pub fn builder(provider: impl Provider) -> ChatModelBuilder {
        ChatModelBuilder::new(Arc::new(provider))
    }
}

impl<P: Provider> From<P> for ChatModel {
    fn from(provider: P) -> Self {
        Self::new(provider)
    }
}

/// Builds a [`ChatModel`].
///
/// ```
/// # use opentool_chat::testing::ScriptedModel;
/// use opentool_chat::{ChatModel, ChatOptions, ChatResponse};
/// use opentool_core::{Executor, FnTool};
///
/// # let provider = ScriptedModel::new([]);
/// let model = ChatModel::builder(provider)
///     .default_options(ChatOptions::new().with_temperature(0.0).with_tools(FnTool::new("now", || "noon")))
///     .executor(Executor::builder().concurrency(2).build())
///     .eligibility(|_: &ChatOptions, response: &ChatResponse| response.tool_calls().len() < 10)
///     .build();
/// # let _ = model;
/// ```
#[must_use = "a model is made by `build`"]
pub struct ChatModelBuilder {
    provider: Arc<dyn Provider>,
    options: ChatOptions,
    default_manager: DefaultToolCallingManager,
    manager: Option<Arc<dyn ToolCallingManager>>,
    eligibility: Option<Arc<dyn Eligibility>>,
    record_content: bool,
    prices: Option<PriceTable>,
}

impl ChatModelBuilder {
    fn new(provider: Arc<dyn Provider>) -> Self {
        Self {
            provider,
            options: ChatOptions::new(),
            default_manager: DefaultToolCallingManager::new(),
            manager: None,
            eligibility: None,
            record_content: false,
            prices: None,
        }
    }

    /// Sets the options of every request that does not set its own.
    pub fn default_options(mut self, options: ChatOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the executor of the default manager, and with it the policies that hold for every call.
    pub fn executor(mut self, executor: Executor) -> Self {
        self.default_manager = self.default_manager.with_executor(executor);
        self
    }

    /// Sets what finds, for the default manager, the tools that requests ask for by name.
    pub fn resolver(mut self, resolver: impl Resolver) -> Self {
        self.default_manager = self.default_manager.with_resolver(resolver);
        self
    }

    /// Replaces the manager; it brings its own executor and resolver.
    pub fn manager(mut self, manager: impl ToolCallingManager) -> Self {
        self.manager = Some(Arc::new(manager));
        self
    }

    /// Sets the predicate that decides whether the model runs the calls of an answer itself.
    pub fn eligibility(mut self, predicate: impl Eligibility) -> Self {
        self.eligibility = Some(Arc::new(predicate));
        self
    }

    /// Sets whether spans record messages, which may hold personal data: false.
    pub fn record_content(mut self, record: bool) -> Self {
        self.record_content = record;
        self
    }

    /// Sets what tokens cost, so that responses and errors have the cost of their turn.
    pub fn prices(mut self, prices: PriceTable) -> Self {
        self.prices = Some(prices);
        self
    }

    /// Puts a middleware around every request to the model, outside of those that are there already.
    pub fn middleware(mut self, middleware: impl ModelMiddleware) -> Self {
        self.provider = Arc::new(Around::new(self.provider, middleware));
        self
    }

    /// Makes the model.
    #[must_use]
    pub fn build(self) -> ChatModel {
        ChatModel(Arc::new(ModelParts {
            provider: self.provider,
            options: self.options,
            manager: self.manager.unwrap_or_else(|| Arc::new(self.default_manager)),
            eligibility: self.eligibility,
            record_content: self.record_content,
            prices: self.prices,
        }))
    }
}

impl fmt::Debug for ChatModelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatModelBuilder").field("provider", &self.provider.name()).finish_non_exhaustive()
    }
}
