//! A provider with the loop around it: [`ChatModel`].

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use opentool_core::Executor;

use super::parts::ModelParts;
use super::turn_request::TurnRequest;
use crate::emitter::Emitter;
use crate::error::ChatError;
use crate::manager::{DefaultToolCallingManager, ToolCallingManager};
use crate::options::ChatOptions;
use crate::prompt::Prompt;
use crate::provider::Provider;
use crate::response::{ChatResponse, RunState};
use crate::stream::ChatStream;

/// A provider's model, with default options and a manager that runs the calls it makes.
///
/// It runs the loop itself: ask, run the calls, ask again with the results, until an answer has no calls. It is
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
pub struct ChatModel(pub(super) Arc<ModelParts>);

impl ChatModel {
    /// Asks the model, runs the calls it makes, and returns its answer.
    ///
    /// With [internal execution](ChatOptions::internal_execution) off, or where the [predicate](crate::Eligibility) does not
    /// agree, the answer may have calls that the caller runs.
    ///
    /// # Errors
    ///
    /// Whatever ended the turn without an answer; the error carries what was said until then.
    pub fn call(&self, prompt: impl Into<Prompt>) -> BoxFuture<'static, Result<ChatResponse, ChatError>> {
        self.run(prompt.into().into())
    }

    /// Asks the model, runs the calls it makes, and streams everything as it happens.
    pub fn stream(&self, prompt: impl Into<Prompt>) -> ChatStream {
        self.run_streamed(prompt.into().into())
    }

    /// Resumes a run that waited for decisions; tools and context are given again, in the options.
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
        self.run(TurnRequest::resume(state, options.clone()))
    }

    /// Resumes a run that waited for decisions, and streams everything as it happens.
    pub fn resume_stream(&self, state: RunState, options: &ChatOptions) -> ChatStream {
        self.run_streamed(TurnRequest::resume(state, options.clone()))
    }

    /// Returns the default options with what is set at run time, as they hold for a request.
    ///
    /// For a loop of your own: what the [manager](Self::manager) gets should have the model's default tools too.
    #[must_use]
    pub fn merge_options(&self, runtime: &ChatOptions) -> ChatOptions {
        self.0.options.merge(runtime)
    }

    /// Returns the same model with another executor for the calls that it makes, and with the default manager.
    pub fn with_executor(&self, executor: Executor) -> Self {
        let ModelParts { provider, options, eligibility, record_content, prices, .. } = &*self.0;
        Self(Arc::new(ModelParts {
            provider: provider.clone(),
            options: options.clone(),
            manager: Arc::new(DefaultToolCallingManager::new().with_executor(executor)),
            eligibility: eligibility.clone(),
            record_content: *record_content,
            prices: prices.clone(),
        }))
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

    /// Runs a turn.
    pub(crate) fn run(&self, request: TurnRequest) -> BoxFuture<'static, Result<ChatResponse, ChatError>> {
        Box::pin(request.run(self.0.clone(), Emitter::unwatched()))
    }

    /// Runs a turn whose events are read.
    pub(crate) fn run_streamed(&self, request: TurnRequest) -> ChatStream {
        ChatStream::new(|events| request.run(self.0.clone(), events))
    }
}

impl fmt::Debug for ChatModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatModel")
            .field("provider", &self.0.provider.name())
            .field("model", &self.0.model_name(&self.0.options))
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}
