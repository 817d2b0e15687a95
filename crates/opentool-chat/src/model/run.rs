//! The loop: ask, run the calls, ask again, until the model has said what it had to say.

use std::sync::Arc;

use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use opentool_core::{Cancellation, Turn};
use tracing::debug;

use super::ids::Ids;
use super::{ChatModel, WorkSpan};
use crate::emitter::Emitter;
use crate::{
    Assembly, AssistantMessage, Cause, ChatError, ChatEvent, ChatMemory, ChatOptions, ChatResponse, Delta, Exchange,
    FinishReason, Generation, Message, ModelRequest, Prompt, RunState, ToolChoice, ToolDefinitions,
    ToolExecutionResult, Usage,
};

/// One turn of a model: one loop, whether or not anybody watches.
pub(crate) struct Run {
    model: ChatModel,
    /// What the model is sent: the conversation, growing, with merged options.
    prompt: Prompt,
    turn: Turn,
    ids: Ids,
    usage: Usage,
    /// What is known of the usage of an answer that is still coming.
    asking: Usage,
    /// Where this turn begins in the conversation.
    start: usize,
    /// Where what a memory outside the loop does not know yet begins in the conversation.
    unknown: usize,
    /// An answer whose calls waited for decisions.
    suspended: Option<ChatResponse>,
    conversation: Option<String>,
    memory: Option<LoopMemory>,
}

/// A memory that every round goes through.
pub(crate) struct LoopMemory {
    memory: Arc<dyn ChatMemory>,
    conversation: String,
    /// The whole conversation so far, since the prompt holds only what the memory gives of it.
    history: Vec<Message>,
    /// What comes before the memory in every round.
    system: Vec<Message>,
}

impl LoopMemory {
    pub(crate) fn new(memory: Arc<dyn ChatMemory>, conversation: String, system: Vec<Message>) -> Self {
        Self { memory, conversation, history: Vec::new(), system }
    }
}

/// What the loop does next.
enum Step {
    Ask,
    Over(Box<ChatResponse>),
}

impl Run {
    /// Starts a turn with merged options.
    pub(crate) fn new(model: ChatModel, prompt: Prompt) -> Self {
        let start = prompt.turn_start();
        Self {
            model,
            prompt,
            turn: Turn::new(),
            ids: Ids::default(),
            usage: Usage::default(),
            asking: Usage::default(),
            start,
            unknown: start,
            suspended: None,
            conversation: None,
            memory: None,
        }
    }

    /// Goes on with a turn that waited, with merged options.
    pub(crate) fn resume(model: ChatModel, state: RunState, options: ChatOptions) -> Self {
        let RunState { exchange, response, turn, conversation, unknown, options: _ } = state;
        let Exchange { history, usage, start } = exchange;
        let prompt = Prompt::new(history).with_options(options);
        Self {
            model,
            prompt,
            turn,
            ids: Ids::default(),
            usage,
            asking: Usage::default(),
            start,
            unknown,
            suspended: Some(response),
            conversation,
            memory: None,
        }
    }

    /// Says where what a memory outside the loop does not know yet begins in the conversation.
    pub(crate) fn with_unknown_from(mut self, unknown: usize) -> Self {
        self.unknown = unknown;
        self
    }

    /// Names the conversation in spans and in a run that waits.
    pub(crate) fn with_conversation(mut self, conversation: Option<String>) -> Self {
        self.conversation = conversation;
        self
    }

    /// Lets every round go through a memory.
    pub(crate) fn with_memory(mut self, memory: LoopMemory) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Runs the turn to its end in a span of its own.
    pub(super) async fn go_in_span(self, events: Emitter<ChatEvent>) -> Result<ChatResponse, ChatError> {
        let span = WorkSpan::of_turn(self.model.inner(), &self.prompt.options, self.conversation.as_deref());
        span.around(self.go(events)).await
    }

    /// Runs the turn to its end, and tells what happens to whoever watches.
    pub(crate) async fn go(mut self, events: Emitter<ChatEvent>) -> Result<ChatResponse, ChatError> {
        let cancellation = match &self.prompt.options.context {
            Some(context) => context.cancellation().clone(),
            None => Cancellation::new(),
        };
        self.turns(&events, &cancellation).await.map_err(|error| self.complete(error))
    }

    async fn turns(
        &mut self,
        events: &Emitter<ChatEvent>,
        cancellation: &Cancellation,
    ) -> Result<ChatResponse, ChatError> {
        self.ids = Ids::of(&mut self.prompt.messages, self.suspended.as_ref());
        if let Some(memory) = &mut self.memory {
            memory.history.clone_from(&self.prompt.messages);
        }
        let model = self.model.clone();
        let resolving = model.inner().manager.resolve_tool_definitions(&self.prompt.options);
        let definitions = cancellation.guard(resolving).await.ok_or(Cause::Cancelled)??;
        debug!(target: "opentool::chat", tools = definitions.len(), "resolved the tools of the request");
        let names = self.pin(&definitions);
        loop {
            let response = match self.suspended.take() {
                // Its calls were found eligible before they had to wait.
                Some(response) => response,
                None => {
                    let asked = self.ask(&definitions, events);
                    let mut response = cancellation.guard(asked).await.ok_or(Cause::Cancelled)??;
                    self.ids.settle(&mut response, &definitions);
                    self.usage += response.usage;
                    self.asking = Usage::default();
                    events.emit(ChatEvent::Usage(response.usage)).await;
                    if !self.is_eligible(&response) {
                        return self.answer(response).await;
                    }
                    response
                }
            };
            match self.execute(response, &names, events).await? {
                Step::Ask => {}
                Step::Over(response) => return Ok(*response),
            }
        }
    }

    /// Holds the tools of the request still for all its rounds; returns the names that were asked for.
    fn pin(&mut self, definitions: &ToolDefinitions) -> Option<Vec<String>> {
        let Some(toolbox) = definitions.toolbox() else { return self.prompt.options.tool_names.clone() };
        self.prompt.options.tools = Some(toolbox.clone().into());
        self.prompt.options.added_tools.clear();
        self.prompt.options.tool_names.take()
    }

    /// Asks once.
    async fn ask(
        &mut self,
        definitions: &ToolDefinitions,
        events: &Emitter<ChatEvent>,
    ) -> Result<ChatResponse, ChatError> {
        self.relax_tool_choice();
        self.check_tool_choice(definitions)?;
        let model = self.model.inner();
        let request = ModelRequest::new(&self.prompt.messages, &self.prompt.options, definitions);
        let span = WorkSpan::of_request(model, request, self.conversation.as_deref());
        let round = self.turn.rounds() + 1;
        let used = &mut self.asking;
        let asked = async move {
            debug!(target: "opentool::chat", round, messages = request.messages.len(), "asking the model");
            if events.is_watched() {
                let asked = assemble(model.provider.stream(request), events, used).await;
                // What was used before an answer broke off is known here and nowhere else.
                asked.map_err(|error| error.with_exchange(Exchange { usage: *used, ..Exchange::default() }))
            } else {
                model.provider.call(request).await
            }
        };
        let response = span.around(asked).await?;
        debug!(
            target: "opentool::chat",
            calls = response.tool_calls().len(),
            input_tokens = response.usage.input_tokens,
            output_tokens = response.usage.output_tokens,
            "the model answered"
        );
        Ok(response)
    }

    /// A model that must call a tool must do so once; after that it would never come to an answer.
    fn relax_tool_choice(&mut self) {
        let choice = &mut self.prompt.options.tool_choice;
        if matches!(choice, Some(ToolChoice::Required | ToolChoice::Named(_))) {
            let since = self.prompt.messages.iter().rev().take_while(|message| !matches!(message, Message::User(_)));
            if since.into_iter().any(|message| matches!(message, Message::Tool(_))) {
                *choice = Some(ToolChoice::Auto);
            }
        }
    }

    /// A choice that no tool of the request can meet would be refused by one provider and passed over by the next.
    fn check_tool_choice(&self, definitions: &ToolDefinitions) -> Result<(), ChatError> {
        let problem = match &self.prompt.options.tool_choice {
            Some(ToolChoice::Required) if definitions.is_empty() => {
                "the tool choice is `required` and the request has no tools: give it some, or choose `auto`".to_owned()
            }
            Some(ToolChoice::Named(name)) if !definitions.iter().any(|definition| definition.name() == name) => {
                format!(
                    "the tool choice names `{name}`, which is not among the tools of the request: add it, or choose `auto`"
                )
            }
            _ => return Ok(()),
        };
        Err(ChatError::setup(problem))
    }

    fn is_eligible(&self, response: &ChatResponse) -> bool {
        let options = &self.prompt.options;
        options.internal_execution != Some(false)
            && response.has_tool_calls()
            && self.model.inner().eligibility.as_ref().is_none_or(|predicate| predicate.is_eligible(options, response))
    }

    /// Runs the calls of an answer.
    async fn execute(
        &mut self,
        response: ChatResponse,
        names: &Option<Vec<String>>,
        events: &Emitter<ChatEvent>,
    ) -> Result<Step, ChatError> {
        let manager = self.model.inner().manager.clone();
        let mut execution = manager.execute_tool_calls(&self.prompt, &response, &mut self.turn);
        if events.is_watched() {
            while let Some(event) = execution.next().await {
                events.emit(ChatEvent::Tool(event)).await;
            }
        }
        let result = execution.finish().await?;
        if !result.pending.is_empty() {
            debug!(target: "opentool::chat", calls = result.pending.len(), "calls wait for a decision");
            return Ok(Step::Over(Box::new(self.suspend(response, names))));
        }
        let direct = result.return_direct.then(|| result.generations());
        self.go_on_with(result).await?;
        match direct {
            Some(generations) => self.return_direct(response, generations, events).await.map(Step::Over),
            None => Ok(Step::Ask),
        }
    }

    /// Takes over the conversation with the answers of a round.
    async fn go_on_with(&mut self, result: ToolExecutionResult) -> Result<(), ChatError> {
        let said = result.conversation_history.get(self.prompt.messages.len()..).unwrap_or_default();
        if self.memory.is_none() {
            self.prompt.messages = result.conversation_history;
            return Ok(());
        }
        self.remember(said).await
    }

    /// Keeps messages in the memory inside the loop, and takes from it what the model is sent next.
    async fn remember(&mut self, said: &[Message]) -> Result<(), ChatError> {
        let Some(LoopMemory { memory, conversation, history, system }) = &mut self.memory else { return Ok(()) };
        history.extend_from_slice(said);
        memory.add(conversation, said).await?;
        let mut messages = system.clone();
        messages.extend(memory.get(conversation).await?);
        let before = std::mem::replace(&mut self.ids, Ids::of(&mut messages, None));
        self.ids.extend(before);
        self.prompt.messages = messages;
        Ok(())
    }

    /// Ends the turn with the model's own answer.
    async fn answer(&mut self, mut response: ChatResponse) -> Result<ChatResponse, ChatError> {
        // Calls that nobody has answered stay out of the history.
        if !response.has_tool_calls() {
            let message = response.message().cloned().unwrap_or_default();
            self.say(message).await?;
        }
        response.usage = self.usage;
        response.exchange = self.exchange();
        Ok(response)
    }

    /// Ends the turn with the results of tools.
    async fn return_direct(
        &mut self,
        response: ChatResponse,
        generations: Vec<Generation>,
        events: &Emitter<ChatEvent>,
    ) -> Result<Box<ChatResponse>, ChatError> {
        let mut response = ChatResponse { generations, usage: self.usage, ..response };
        let text = response.text();
        events.emit(ChatEvent::Text(text.clone())).await;
        // The user saw it, so it was said.
        self.say(AssistantMessage::new(text)).await?;
        response.exchange = self.exchange();
        Ok(Box::new(response))
    }

    async fn say(&mut self, message: AssistantMessage) -> Result<(), ChatError> {
        let message = Message::from(message);
        match &mut self.memory {
            None => self.prompt.messages.push(message),
            Some(memory) => {
                memory.history.push(message.clone());
                memory.memory.add(&memory.conversation, &[message]).await?;
            }
        }
        Ok(())
    }

    /// Leaves the turn to wait for decisions.
    fn suspend(&mut self, response: ChatResponse, names: &Option<Vec<String>>) -> ChatResponse {
        let mut options = ChatOptions { tool_names: names.clone(), ..self.prompt.options.clone() };
        // Code and secrets are given again.
        (options.tools, options.context) = (None, None);
        options.added_tools.clear();
        let state = RunState {
            exchange: self.exchange(),
            response: response.clone(),
            turn: std::mem::take(&mut self.turn),
            options,
            conversation: self.conversation.clone(),
            unknown: self.unknown,
        };
        let mut response = ChatResponse { usage: self.usage, exchange: state.exchange.clone(), ..response };
        for generation in &mut response.generations {
            generation.finish_reason = FinishReason::Suspended;
        }
        response.suspended = Some(Box::new(state));
        response
    }

    fn exchange(&mut self) -> Exchange {
        let history = match &mut self.memory {
            Some(memory) => &mut memory.history,
            None => &mut self.prompt.messages,
        };
        // The turn is over, so nobody else needs it.
        Exchange { history: std::mem::take(history), usage: self.usage, start: self.start }
    }

    /// Gives an error what was said until then.
    fn complete(&mut self, error: ChatError) -> ChatError {
        let sent = self.prompt.messages.len();
        let mut exchange = self.exchange();
        exchange.usage += self.asking;
        let (cause, done) = error.into_parts();
        // A manager that ended the turn says what its last round did.
        let new = done.history.get(sent..).unwrap_or_default();
        exchange.history.extend_from_slice(new);
        debug!(target: "opentool::chat", cause = cause.as_str(), "the turn ended without an answer");
        ChatError::from(cause).with_exchange(exchange)
    }
}

/// Puts an answer together while it comes, and keeps what is known of its usage.
async fn assemble(
    mut stream: BoxStream<'_, Result<Delta, ChatError>>,
    events: &Emitter<ChatEvent>,
    used: &mut Usage,
) -> Result<ChatResponse, ChatError> {
    let mut assembly = Assembly::new();
    while let Some(delta) = stream.next().await {
        let delta = delta?;
        match &delta {
            Delta::Text(text) if !text.is_empty() => events.emit(ChatEvent::Text(text.clone())).await,
            Delta::Reasoning(text) if !text.is_empty() => events.emit(ChatEvent::Reasoning(text.clone())).await,
            Delta::Usage(usage) => *used = *usage,
            _ => {}
        }
        assembly.push(delta);
    }
    Ok(assembly.finish())
}
