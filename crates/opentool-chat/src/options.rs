//! How a model is asked: [`ChatOptions`].

use std::time::Duration;

use opentool_core::{Cancellation, IntoToolSource, Respondent, Source, ToolContext};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::reasoning::ReasoningEffort;
use crate::response_format::ResponseFormat;

/// Which tools a model may or must call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model calls no tool.
    None,
    /// The model calls at least one tool. After the first round this becomes [`Auto`](Self::Auto), so that it can answer.
    Required,
    /// The model calls this tool. After the first round this becomes [`Auto`](Self::Auto), so that it can answer.
    Named(String),
}

/// What happens when a turn has had all the rounds, or all the calls, that its [limits](opentool_core::Limits) allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AtLimit {
    /// The model is asked once more, with `tool_choice` [none](ToolChoice::None), so that it answers with what it knows. A call
    /// all the same is the error.
    #[default]
    Answer,
    /// The turn ends with an error that carries the history.
    Fail,
}

/// How a model is asked, and which tools it may call.
///
/// What is not set is left to the defaults of the client, then of the model, then of the provider; an empty list is set, and
/// means none. Everything but tools and context, which are code and secrets, can be written and read with serde.
///
/// ```
/// use opentool_chat::ChatOptions;
/// use opentool_core::FnTool;
///
/// let defaults = ChatOptions::new().with_temperature(0.2).with_tools(FnTool::new("now", || "noon"));
/// let request = ChatOptions::new().with_model("tiny").with_temperature(0.0);
/// let both = defaults.merge(&request);
/// assert_eq!((both.model.as_deref(), both.temperature), (Some("tiny"), Some(0.0)));
/// assert!(both.tools.is_some());
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ChatOptions {
    /// The model, as the provider names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// How many tokens one answer may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The texts at which the model stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Vec<String>>,
    /// Which tools the model may or must call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Whether the model may call several tools in one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// The form that the answer must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat>,
    /// How much the model should think before it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// How many tokens the model may think, where its provider counts them; 0 is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_budget: Option<u32>,
    /// The tools.
    #[serde(skip)]
    pub tools: Option<Source>,
    /// Tools beside [`tools`](Self::tools), which do not replace the defaults.
    #[serde(skip)]
    pub added_tools: Vec<Source>,
    /// The names of tools that the manager's resolver finds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_names: Option<Vec<String>>,
    /// What tools get and the model never sees.
    #[serde(skip)]
    pub context: Option<ToolContext>,
    /// Whether the model runs the calls itself and asks again; it does by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internal_execution: Option<bool>,
    /// What happens when the turn has had its rounds or its calls; by default the model is asked for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_limit: Option<AtLimit>,
    /// How long the turn may take, all its requests and calls together; by default there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_timeout: Option<Duration>,
    /// What only one provider understands; put into the body of its requests as it is.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl ChatOptions {
    /// Sets nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the model.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets the sampling temperature.
    #[must_use]
    pub fn with_temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets how many tokens one answer may have.
    #[must_use]
    pub fn with_max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Sets the texts at which the model stops.
    #[must_use]
    pub fn with_stop<S: Into<String>>(mut self, stop: impl IntoIterator<Item = S>) -> Self {
        self.stop = Some(stop.into_iter().map(Into::into).collect());
        self
    }

    /// Sets which tools the model may or must call.
    #[must_use]
    pub fn with_tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = Some(choice);
        self
    }

    /// Sets whether the model may call several tools in one answer.
    #[must_use]
    pub fn with_parallel_tool_calls(mut self, parallel: bool) -> Self {
        self.parallel_tool_calls = Some(parallel);
        self
    }

    /// Sets the form that the answer must have.
    ///
    /// Whether the provider can hold the model to it says [`Provider::typed_answers`](crate::Provider::typed_answers).
    #[must_use]
    pub fn with_response_format(mut self, format: ResponseFormat) -> Self {
        self.response_format = Some(format);
        self
    }

    /// Sets how much the model should think before it answers.
    #[must_use]
    pub fn with_reasoning_effort(mut self, effort: ReasoningEffort) -> Self {
        self.reasoning_effort = Some(effort);
        self
    }

    /// Sets how many tokens the model may think, where its provider counts them; 0 is none.
    #[must_use]
    pub fn with_reasoning_budget(mut self, tokens: u32) -> Self {
        self.reasoning_budget = Some(tokens);
        self
    }

    /// Sets the tools, which replace the default ones. An error in them is kept until they are needed.
    #[must_use]
    pub fn with_tools<M>(mut self, tools: impl IntoToolSource<M>) -> Self {
        self.tools = Some(Source::new(tools));
        self
    }

    /// Adds tools to those that are there or come from the defaults. An error in them is kept until they are needed.
    #[must_use]
    pub fn with_added_tools<M>(mut self, tools: impl IntoToolSource<M>) -> Self {
        self.added_tools.push(Source::new(tools));
        self
    }

    /// Sets the names of tools that the manager's resolver finds; they replace the default ones.
    #[must_use]
    pub fn with_tool_names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.tool_names = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Adds a value to the context of the tools.
    #[must_use]
    pub fn with_context(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.context.get_or_insert_default().insert(key, value);
        self
    }

    /// Adds everything in a context to the context of the tools.
    #[must_use]
    pub fn with_tool_context(mut self, context: &ToolContext) -> Self {
        self.context = Some(self.context.unwrap_or_default().merge(context));
        self
    }

    /// Sets what answers the [questions](ToolContext::ask) of tools. It is kept in the context of the tools.
    #[must_use]
    pub fn with_respondent(mut self, respondent: impl Respondent) -> Self {
        self.context = Some(self.context.unwrap_or_default().with_respondent(respondent));
        self
    }

    /// Sets whether the model runs the calls itself and asks again.
    #[must_use]
    pub fn with_internal_execution(mut self, internal: bool) -> Self {
        self.internal_execution = Some(internal);
        self
    }

    /// Sets what happens when the turn has had its rounds or its calls.
    #[must_use]
    pub fn with_at_limit(mut self, at_limit: AtLimit) -> Self {
        self.at_limit = Some(at_limit);
        self
    }

    /// Sets how long the turn may take, all its requests and calls together.
    ///
    /// Calls that run then are cancelled, and have their outcome in the history like any other.
    #[must_use]
    pub fn with_turn_timeout(mut self, time: Duration) -> Self {
        self.turn_timeout = Some(time);
        self
    }

    /// Adds a setting that only one provider understands.
    #[must_use]
    pub fn with_extra(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(key.into(), value.into());
        self
    }

    /// Returns these defaults with what is set at run time.
    ///
    /// What is set there replaces what is here, each kind its own: tools replace tools, names replace names. The context and
    /// the extra settings are merged, and there the value at run time wins. Added tools are added to tools that stay; those that
    /// are replaced take what was added to them along.
    #[must_use]
    pub fn merge(&self, runtime: &Self) -> Self {
        fn either<T: Clone>(default: &Option<T>, runtime: &Option<T>) -> Option<T> {
            runtime.as_ref().or(default.as_ref()).cloned()
        }
        let added_tools = match &runtime.tools {
            Some(_) => runtime.added_tools.clone(),
            None => self.added_tools.iter().chain(&runtime.added_tools).cloned().collect(),
        };
        let context = match (&self.context, &runtime.context) {
            (Some(default), Some(runtime)) => Some(default.merge(runtime)),
            (default, runtime) => either(default, runtime),
        };
        let mut extra = self.extra.clone();
        extra.extend(runtime.extra.iter().map(|(key, value)| (key.clone(), value.clone())));
        Self {
            model: either(&self.model, &runtime.model),
            temperature: either(&self.temperature, &runtime.temperature),
            max_tokens: either(&self.max_tokens, &runtime.max_tokens),
            stop: either(&self.stop, &runtime.stop),
            tool_choice: either(&self.tool_choice, &runtime.tool_choice),
            parallel_tool_calls: either(&self.parallel_tool_calls, &runtime.parallel_tool_calls),
            response_format: either(&self.response_format, &runtime.response_format),
            reasoning_effort: either(&self.reasoning_effort, &runtime.reasoning_effort),
            reasoning_budget: either(&self.reasoning_budget, &runtime.reasoning_budget),
            tools: either(&self.tools, &runtime.tools),
            added_tools,
            tool_names: either(&self.tool_names, &runtime.tool_names),
            context,
            internal_execution: either(&self.internal_execution, &runtime.internal_execution),
            at_limit: either(&self.at_limit, &runtime.at_limit),
            turn_timeout: either(&self.turn_timeout, &runtime.turn_timeout),
            extra,
        }
    }

    /// Returns the signal that cancels the turn.
    pub(crate) fn cancellation(&self) -> Cancellation {
        self.context.as_ref().map_or_else(Cancellation::new, |context| context.cancellation().clone())
    }

    /// Returns these options with others that were set in the same place, whose tools leave alone what was added here.
    pub(crate) fn and(mut self, others: &Self) -> Self {
        let mut added = std::mem::take(&mut self.added_tools);
        let mut both = self.merge(others);
        added.append(&mut both.added_tools);
        Self { added_tools: added, ..both }
    }
}
