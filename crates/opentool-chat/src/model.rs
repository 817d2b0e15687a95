//! A provider's model that calls tools: [`ChatModel`].

mod builder;
mod content;
mod eligibility;
mod ids;
mod run;
mod span;

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;

pub use self::builder::ChatModelBuilder;
pub use self::eligibility::Eligibility;
pub(crate) use self::run::{LoopMemory, Run};
pub(crate) use self::span::WorkSpan;
use crate::emitter::Emitter;
use crate::{ChatError, ChatOptions, ChatResponse, ChatStream, Prompt, Provider, RunState, ToolCallingManager};

/// A provider's model, with default options and a manager that runs the calls it makes.
///
/// It runs the loop itself: ask, run the calls, ask again with the answers, until the model has said what it had to say. It is
/// the same loop for [`call`](Self::call) and for [`stream`](Self::stream). A clone shares everything.
///
/// ```
/// use opentool_chat::testing::{Reply, ScriptedModel};
/// use opentool_chat::{ChatModel, ChatOptions, Prompt};
/// use opentool_core::FnTool;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # let provider = ScriptedModel::new([Reply::call("now", "{}"), Reply::text("It is noon.")]);
/// let model = ChatModel::new(provider);
/// let options = ChatOptions::new().with_tools(FnTool::new("now", || "12:00"));
/// let response = model.call(Prompt::new("What time is it?").with_options(options)).await?;
/// assert_eq!(response.text(), "It is noon.");
/// assert_eq!(response.messages().len(), 4, "question, call, answer, answer to the question");
/// # Ok::<(), opentool_chat::ChatError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct ChatModel(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) options: ChatOptions,
    pub(crate) manager: Arc<dyn ToolCallingManager>,
    pub(crate) eligibility: Option<Arc<dyn Eligibility>>,
    pub(crate) record_content: bool,
}

impl Inner {
    /// The model that is asked.
    fn asked<'a>(&'a self, options: &'a ChatOptions) -> Option<&'a str> {
        options.model.as_deref().or_else(|| self.provider.model())
    }
}

impl ChatModel {
    /// Makes a model with no default options and the default manager.
    pub fn new(provider: impl Provider) -> Self {
        Self::builder(provider).build()
    }

    /// Starts a model with default options, another executor or another manager.
    pub fn builder(provider: impl Provider) -> ChatModelBuilder {
        ChatModelBuilder::new(Arc::new(provider))
    }

    /// Asks the model, runs the calls it makes, and returns its answer.
    ///
    /// With [internal execution](ChatOptions::internal_execution) off, or where the [predicate](Eligibility) does not agree, the answer
    /// may have calls that the caller runs.
    ///
    /// # Errors
    ///
    /// Whatever ended the turn without an answer; the error carries what was said until then.
    pub fn call(&self, prompt: impl Into<Prompt>) -> BoxFuture<'static, Result<ChatResponse, ChatError>> {
        Box::pin(self.run(prompt.into()).go_in_span(Emitter::unwatched()))
    }

    /// Asks the model, runs the calls it makes, and tells everything as it happens.
    pub fn stream(&self, prompt: impl Into<Prompt>) -> ChatStream {
        let run = self.run(prompt.into());
        ChatStream::new(|events| run.go_in_span(events))
    }

    /// Goes on with a run that waited for decisions; tools and context are given again, in the options.
    ///
    /// A call without a decision goes through the approval policy again, and may wait again.
    ///
    /// # Errors
    ///
    /// Whatever ended the turn without an answer; the error carries what was said until then.
    pub fn resume(
        &self,
        state: RunState,
        options: &ChatOptions,
    ) -> BoxFuture<'static, Result<ChatResponse, ChatError>> {
        Box::pin(self.resumed(state, options).go_in_span(Emitter::unwatched()))
    }

    /// Goes on with a run that waited for decisions, and tells everything as it happens.
    pub fn resume_stream(&self, state: RunState, options: &ChatOptions) -> ChatStream {
        let run = self.resumed(state, options);
        ChatStream::new(|events| run.go_in_span(events))
    }

    /// Returns the default options with what is set at run time, as they hold for a request.
    ///
    /// For a loop in your own hands: what the [manager](Self::manager) is given should know the model's default tools too.
    #[must_use]
    pub fn merge_options(&self, runtime: &ChatOptions) -> ChatOptions {
        self.0.options.merge(runtime)
    }

    /// Returns the provider.
    #[must_use]
    pub fn provider(&self) -> &dyn Provider {
        &*self.0.provider
    }

    /// Returns the manager, which runs the calls.
    #[must_use]
    pub fn manager(&self) -> &dyn ToolCallingManager {
        &*self.0.manager
    }

    /// Returns the default options.
    #[must_use]
    pub fn default_options(&self) -> &ChatOptions {
        &self.0.options
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    fn run(&self, mut prompt: Prompt) -> Run {
        prompt.options = self.merge_options(&prompt.options);
        Run::new(self.clone(), prompt)
    }

    fn resumed(&self, state: RunState, options: &ChatOptions) -> Run {
        let options = self.0.options.merge(&state.options).merge(options);
        Run::resume(self.clone(), state, options)
    }
}

impl<P: Provider> From<P> for ChatModel {
    fn from(provider: P) -> Self {
        Self::new(provider)
    }
}

impl fmt::Debug for ChatModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatModel")
            .field("provider", &self.0.provider.name())
            .field("model", &self.0.asked(&self.0.options))
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}
