use std::sync::Arc;

use futures_core::future::BoxFuture;
use opentool_core::{Cancellation, Decision, IntoToolSource, NotPending, ToolContext};
use serde_json::Value;

use super::{ChatClient, Inner};
use crate::emitter::Emitter;
use crate::model::{LoopMemory, Run, WorkSpan};
use crate::{
    Cause, ChatError, ChatEvent, ChatMemory, ChatOptions, ChatResponse, ChatStream, MemoryError, Message, Prompt,
    RunState,
};

/// A request to a model, until it is [called](Self::call) or [streamed](Self::stream).
#[derive(Debug)]
#[must_use = "the model is asked by `call` or `stream`"]
pub struct ChatRequest {
    client: ChatClient,
    subject: Subject,
    options: ChatOptions,
    system: Option<Arc<str>>,
    conversation: Option<String>,
    fault: Option<NotPending>,
}

#[derive(Debug)]
enum Subject {
    Ask(Vec<Message>),
    Resume(Box<RunState>),
}

impl ChatRequest {
    pub(super) fn ask(client: ChatClient, prompt: Prompt) -> Self {
        Self::new(client, Subject::Ask(prompt.messages), prompt.options)
    }

    pub(super) fn resume(client: ChatClient, state: RunState) -> Self {
        Self::new(client, Subject::Resume(Box::new(state)), ChatOptions::new())
    }

    fn new(client: ChatClient, subject: Subject, options: ChatOptions) -> Self {
        Self { client, subject, options, system: None, conversation: None, fault: None }
    }

    /// Sets what the conversation begins with, instead of the client's text.
    pub fn system(mut self, text: impl Into<Arc<str>>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Sets the tools, which replace the default ones. An error in them is kept until the call.
    pub fn tools<M>(mut self, tools: impl IntoToolSource<M>) -> Self {
        self.options = self.options.with_tools(tools);
        self
    }

    /// Adds tools to those that are there by default or were set. An error in them is kept until the call.
    pub fn add_tools<M>(mut self, tools: impl IntoToolSource<M>) -> Self {
        self.options = self.options.with_added_tools(tools);
        self
    }

    /// Sets the names of tools that the model's resolver finds; they replace the default ones.
    pub fn tool_names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.options = self.options.with_tool_names(names);
        self
    }

    /// Adds a value to what tools are handed and the model never sees.
    pub fn context(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options = self.options.with_context(key, value);
        self
    }

    /// Adds everything in a context to what tools are handed and the model never sees.
    pub fn tool_context(mut self, context: &ToolContext) -> Self {
        self.options = self.options.with_tool_context(context);
        self
    }

    /// Adds options to those that are set.
    pub fn options(mut self, options: ChatOptions) -> Self {
        self.options = self.options.and(&options);
        self
    }

    /// Sets the conversation that the client's memory keeps the turn in.
    pub fn conversation(mut self, id: impl Into<String>) -> Self {
        self.conversation = Some(id.into());
        self
    }

    /// Sets the signal that cancels the turn: the model's answer and the calls that run.
    pub fn cancellation(mut self, cancellation: Cancellation) -> Self {
        let context = self.options.context.take().unwrap_or_default();
        self.options.context = Some(context.with_cancellation(cancellation));
        self
    }

    /// Decides about a call of a run that is [resumed](ChatClient::resume). A call that does not wait is an error of the call.
    pub fn decide(mut self, call_id: &str, decision: Decision) -> Self {
        let decided = match &mut self.subject {
            Subject::Resume(state) => state.decide(call_id, decision),
            Subject::Ask(_) => opentool_core::Turn::new().decide(call_id, decision),
        };
        if let Err(fault) = decided {
            self.fault.get_or_insert(fault);
        }
        self
    }

    /// Asks the model, runs the calls it makes, and returns its answer.
    ///
    /// # Errors
    ///
    /// Whatever ended the turn without an answer; the error carries what was said until then.
    pub fn call(self) -> BoxFuture<'static, Result<ChatResponse, ChatError>> {
        Box::pin(self.go(Emitter::unwatched()))
    }

    /// Asks the model, runs the calls it makes, and tells everything as it happens.
    pub fn stream(self) -> ChatStream {
        ChatStream::new(|events| self.go(events))
    }

    async fn go(self, events: Emitter<ChatEvent>) -> Result<ChatResponse, ChatError> {
        let Self { client: ChatClient(client), subject, options, system, conversation, fault } = self;
        let conversation = conversation.or_else(|| client.conversation.clone());
        let defaults = client.model.merge_options(&client.options);
        let (options, conversation) = match &subject {
            Subject::Ask(_) => (defaults.merge(&options), conversation),
            // What the first request asked for still holds.
            Subject::Resume(state) => {
                (defaults.merge(&state.options).merge(&options), state.conversation.clone().or(conversation))
            }
        };
        let span = WorkSpan::of_turn(client.model.inner(), &options, conversation.as_deref());
        let turn = async move {
            match fault {
                Some(fault) => Err(ChatError::setup(fault.to_string())),
                None => client.turn(subject, system, options, conversation, events).await,
            }
        };
        span.around(turn).await
    }
}

/// A memory outside the loop, to which a whole turn is added when it is over.
struct Keeper {
    memory: Arc<dyn ChatMemory>,
    conversation: String,
    /// Where what the memory does not know yet begins in the conversation.
    unknown: usize,
}

impl Keeper {
    fn unknown_in<'a>(&self, response: &'a ChatResponse) -> &'a [Message] {
        response.exchange().history.get(self.unknown..).unwrap_or_default()
    }
}

impl Inner {
    /// Runs a turn, with what its conversation remembers and for it to remember.
    async fn turn(
        &self,
        subject: Subject,
        system: Option<Arc<str>>,
        options: ChatOptions,
        conversation: Option<String>,
        events: Emitter<ChatEvent>,
    ) -> Result<ChatResponse, ChatError> {
        let (run, memory) = match subject {
            Subject::Ask(messages) => self.start(messages, system, options, conversation).await?,
            Subject::Resume(state) => self.go_on(*state, options, conversation)?,
        };
        let response = run.go(events).await?;
        // A turn whose calls wait, for a decision or for the caller, is not over.
        if let Some(keeper) = memory
            && !response.has_tool_calls()
        {
            let kept = keeper.memory.add(&keeper.conversation, keeper.unknown_in(&response)).await;
            kept.map_err(|error| ChatError::from(error).with_exchange(response.exchange().clone()))?;
        }
        Ok(response)
    }

    /// Makes the run of a request, with what its conversation remembers.
    async fn start(
        &self,
        messages: Vec<Message>,
        system: Option<Arc<str>>,
        options: ChatOptions,
        conversation: Option<String>,
    ) -> Result<(Run, Option<Keeper>), ChatError> {
        let (system, asked) = self.split(messages, system);
        let cancellation = options.context.as_ref().map(|context| context.cancellation().clone());
        let run = |messages: Vec<Message>, conversation: Option<String>| {
            Run::new(self.model.clone(), Prompt::new(messages).with_options(options)).with_conversation(conversation)
        };
        let mut messages = system.clone();
        let Some(memory) = self.memory.clone() else {
            messages.extend(asked);
            return Ok((run(messages, conversation), None));
        };
        let conversation = conversation.ok_or_else(no_conversation)?;
        if self.memory_in_loop {
            messages.extend(
                cancellable(&cancellation, async {
                    memory.add(&conversation, &asked).await?;
                    memory.get(&conversation).await
                })
                .await?,
            );
            let inside = LoopMemory::new(memory, conversation.clone(), system);
            return Ok((run(messages, Some(conversation)).with_memory(inside), None));
        }
        messages.extend(cancellable(&cancellation, memory.get(&conversation)).await?);
        let unknown = messages.len();
        messages.extend(asked);
        let run = run(messages, Some(conversation.clone())).with_unknown_from(unknown);
        Ok((run, Some(Keeper { memory, conversation, unknown })))
    }

    /// Makes the run that goes on where another had to wait.
    fn go_on(
        &self,
        state: RunState,
        options: ChatOptions,
        conversation: Option<String>,
    ) -> Result<(Run, Option<Keeper>), ChatError> {
        let unknown = state.unknown;
        let is_system = |message: &&Message| matches!(message, Message::System(_));
        let system = state.exchange().history.iter().take_while(is_system).cloned().collect();
        let run = Run::resume(self.model.clone(), state, options).with_conversation(conversation.clone());
        let Some(memory) = self.memory.clone() else { return Ok((run, None)) };
        let conversation = conversation.ok_or_else(no_conversation)?;
        if self.memory_in_loop {
            return Ok((run.with_memory(LoopMemory::new(memory, conversation, system)), None));
        }
        Ok((run, Some(Keeper { memory, conversation, unknown })))
    }

    /// Takes the system messages of a prompt out, and adds the client's text where it has none.
    fn split(&self, messages: Vec<Message>, system: Option<Arc<str>>) -> (Vec<Message>, Vec<Message>) {
        let (own, asked): (Vec<_>, Vec<_>) =
            messages.into_iter().partition(|message| matches!(message, Message::System(_)));
        let text = system.or_else(|| self.system.clone().filter(|_| own.is_empty()));
        let system = text.map(Message::system).into_iter().chain(own).collect();
        (system, asked)
    }
}

/// Lets whoever cancels a turn not wait for a memory that somebody else holds.
async fn cancellable<T>(
    cancellation: &Option<Cancellation>,
    remembering: impl Future<Output = Result<T, MemoryError>>,
) -> Result<T, ChatError> {
    match cancellation {
        Some(cancellation) => Ok(cancellation.guard(remembering).await.ok_or(Cause::Cancelled)??),
        None => Ok(remembering.await?),
    }
}

fn no_conversation() -> ChatError {
    ChatError::setup("the client has a memory, so a request must say whose it is: `.conversation(id)`")
}
