//! Models that call tools, under the framework's control or yours.
//!
//! ```
//! use opentool_chat::ChatClient;
//! use opentool_core::FnTool;
//! # use opentool_chat::testing::{Reply, ScriptedModel};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! # let provider = ScriptedModel::new([Reply::call("current_date_time", "{}"), Reply::text("Tomorrow is 2015-10-21.")]);
//! let answer = ChatClient::new(provider)
//!     .prompt("What day is tomorrow?")
//!     .tools(FnTool::new("current_date_time", || "2015-10-20T16:29:00-07:00"))
//!     .call()
//!     .await?;
//! assert_eq!(answer.text(), "Tomorrow is 2015-10-21.");
//! # Ok::<(), opentool_chat::ChatError>(())
//! # }).unwrap();
//! ```
//!
//! # The parts
//!
//! - A [`Provider`] asks a model once. [`OpenAi`](provider::OpenAi) is for OpenAI and the many servers with its API, some of which
//!   are a [`Preset`](provider::Preset); [`OpenAiResponses`](provider::OpenAiResponses), [`AzureOpenAi`](provider::AzureOpenAi),
//!   [`Anthropic`](provider::Anthropic), [`Gemini`](provider::Gemini) and [`Ollama`](provider::Ollama) are for theirs.
//! - A [`ChatModel`] is a provider with default [`ChatOptions`] and a [`ToolCallingManager`]. It runs the loop: ask, run the
//!   calls, ask again with the results, until an answer has no calls.
//! - A [`ChatClient`] is what an application uses: default tools, system text, memory, and a builder for each request.
//! - Calls are run by the [`Executor`](opentool_core::Executor) and by nothing else, so its checks, limits, deadlines,
//!   approval and spans hold here as everywhere.
//!
//! # Which tools
//!
//! Tools come from the model's defaults, the client's defaults and the request; the innermost that sets a kind wins, each kind
//! for itself: `.tools` replaces tools, `.tool_names` replaces names, `.add_tools` adds. The context is merged, key by key. Only
//! these tools may run. They are resolved, and described to the model, once per request.
//!
//! # Streaming
//!
//! [`ChatRequest::stream`] runs the same loop and yields everything that happens as a [`ChatEvent`]:
//!
//! ```
//! use opentool_chat::{ChatClient, ChatEvent};
//! # use opentool_chat::testing::{Reply, ScriptedModel};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! # let client = ChatClient::new(ScriptedModel::new([Reply::text("Once upon a time")]));
//! # let mut story = String::new();
//! let mut stream = client.prompt("Tell me a story.").stream();
//! while let Some(event) = stream.next().await {
//!     match event? {
//!         ChatEvent::Text(text) => story.push_str(&text),
//!         ChatEvent::Tool(event) => eprintln!("{event:?}"),
//!         ChatEvent::Done(response) => assert_eq!(response.text(), story),
//!         _ => {}
//!     }
//! }
//! # assert_eq!(story, "Once upon a time");
//! # Ok::<(), opentool_chat::ChatError>(())
//! # }).unwrap();
//! ```
//!
//! # The history
//!
//! [`ChatResponse::messages`] has every message of the turn. When a turn ends without an answer, [`ChatError::exchange`] has what
//! was said until then, so that the work done is not lost, and what the model had said of an answer that broke off. No history ever
//! holds a call without its answer. [`ChatResponse::end`] and [`ChatError::end`] say in one enum why the turn ended.
//!
//! When a turn has had its rounds or its calls, the model is asked once more, without a tool to call, so that it answers with
//! what it knows; [`ChatOptions::with_at_limit`] makes that an error instead. [`ChatOptions::with_turn_timeout`] is a deadline.
//!
//! # Typed answers
//!
//! [`ChatRequest::call_as`] returns the answer as a value of a type, [`ChatRequest::stream_as`] as JSON that grows and then
//! the value. An answer that does not follow the schema goes back to the model with what is wrong: see [`AnswerForm`].
//!
//! # Around a model
//!
//! A [`ModelMiddleware`] stands around every request to a model: [`Fallback`], [`RateLimit`], [`ConcurrencyLimit`], or your own.
//!
//! # Images, sounds and files
//!
//! [`Media`] goes into a [`UserMessage`], from a path, bytes or a URL, and comes out of tools; each provider gets it in its own form.
//!
//! ```
//! use opentool_chat::{ChatClient, Media, UserMessage};
//! # use opentool_chat::testing::{Reply, ScriptedModel};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! # let client = ChatClient::new(ScriptedModel::new([Reply::text("A pixel.")]));
//! # let png = b"\x89PNG\r\n\x1a\n";
//! let photo = Media::from_bytes("image/png", png)?; // or from_path, from_base64, from_url
//! let answer = client.prompt(UserMessage::new("What is this?").with_media(photo)).call().await?;
//! # assert_eq!(answer.text(), "A pixel.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Conversations
//!
//! A [`ChatMemory`] keeps conversations by their id: [`InProcessMemory`] in the process, `SqliteMemory`
//! (feature `sqlite`) in a file. Whole turns are added, and a [window](window()) of the latest messages is sent to the model;
//! [`TokenWindow`] makes that a budget of tokens, [`SummarisingMemory`] sums up what falls out of it. A turn that fails after a tool has
//! run is kept too, with a mark that the model sees.
//!
//! ```
//! use opentool_chat::{ChatClient, InProcessMemory};
//! # use opentool_chat::testing::{FunctionModel, Reply};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! # let provider = FunctionModel::new(|request| Reply::text(format!("{} messages so far", request.messages.len())));
//! let client = ChatClient::builder(provider).memory(InProcessMemory::new()).build();
//! client.prompt("My name is Ann.").conversation("ann").call().await?;
//! let answer = client.prompt("What is my name?").conversation("ann").call().await?;
//! # assert_eq!(answer.text(), "3 messages so far");
//! # Ok::<(), opentool_chat::ChatError>(())
//! # }).unwrap();
//! ```
//!
//! # Approval
//!
//! A tool that needs approval is denied where no approval policy can ask for it. An [`ApprovalPolicy`](opentool_core::ApprovalPolicy) may
//! approve, deny, edit the arguments, or suspend the call. A run that waits can be stored, and resumed in another process:
//!
//! ```
//! use opentool_chat::{ChatClient, ChatModel, RunState};
//! use opentool_core::{Ask, Decision, Executor, FnTool};
//! # use opentool_chat::testing::{Reply, ScriptedModel};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! # let provider = ScriptedModel::new([Reply::call("delete", "{}"), Reply::text("It is gone.")]);
//! let executor = Executor::builder().approval(Ask::later().for_destructive(true)).build();
//! let client = ChatClient::builder(ChatModel::builder(provider).executor(executor).build())
//!     .default_tools(FnTool::new("delete", || "deleted").destructive())
//!     .build();
//!
//! let waiting = client.prompt("Delete it.").call().await?;
//! let stored = serde_json::to_string(waiting.run_state().unwrap())?;
//!
//! let state: RunState = serde_json::from_str(&stored)?;
//! let call = state.pending().next().unwrap().id.clone();
//! let answer = client.resume(state).decide(&call, Decision::Approve).call().await?;
//! assert_eq!(answer.text(), "It is gone.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! What is stored is as powerful as an approval. Where others can write to the storage, sign it (feature `signing`):
//!
#![cfg_attr(feature = "signing", doc = "```")]
#![cfg_attr(not(feature = "signing"), doc = "```ignore")]
//! use std::time::Duration;
//!
//! use opentool_chat::RunState;
//! use opentool_core::StateSigner;
//! # use opentool_chat::{ChatClient, ChatModel, testing::{Reply, ScriptedModel}};
//! # use opentool_core::{Ask, Executor, FnTool};
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! # let executor = Executor::builder().approval(Ask::later().for_destructive(true)).build();
//! # let provider = ScriptedModel::new([Reply::call("delete", "{}")]);
//! # let client = ChatClient::builder(ChatModel::builder(provider).executor(executor).build())
//! #     .default_tools(FnTool::new("delete", || "deleted").destructive()).build();
//! # let waiting = client.prompt("Delete it.").call().await?;
//! # let secret = [7; 32];
//!
//! let signer = StateSigner::new(secret)?; // 32 random bytes or more
//! // The user, the conversation and the step, so that the text counts for no other.
//! let bound_to = "ann/conversation-7/step-3";
//! let stored = signer.sign(waiting.run_state().unwrap(), bound_to, Duration::from_secs(24 * 60 * 60))?;
//!
//! let state: RunState = signer.verify(&stored, bound_to)?;
//! # assert_eq!(state.pending().count(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Questions of tools
//!
//! A tool may ask the user something while it runs ([`ToolContext::ask`](opentool_core::ToolContext::ask)). What answers is set
//! for a client or a request: a form in a window, a line at a terminal. The model sees neither question nor answer, and the time until
//! the answer counts against no deadline. Without it, the tool gets an error that says so.
//!
//! ```
//! use opentool_chat::ChatClient;
//! use opentool_core::{FnTool, Question, ToolContext, UserAnswer};
//! use serde_json::json;
//! # use opentool_chat::testing::{Reply, ScriptedModel};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let provider = ScriptedModel::new([Reply::call("book", "{}"), Reply::text("Booked.")]);
//! let book = FnTool::fallible("book", |context: ToolContext| async move {
//!     let seat = json!({ "type": "object", "properties": { "seat": { "enum": ["aisle", "window"] } }, "required": ["seat"] });
//!     match context.ask("Which seat?", seat).await? {
//!         UserAnswer::Accepted(answer) => Ok(format!("booked: {}", answer["seat"])),
//!         _ => Ok("not booked: the user did not choose a seat".to_owned()),
//!     }
//! });
//! let client = ChatClient::builder(provider)
//!     .default_tools(book)
//!     .respondent(|question: Question| async move {
//!         println!("{}", question.message); // show a form made from `question.schema`, and wait for it
//!         Ok(json!({ "seat": "aisle" }).as_object().cloned().map_or(UserAnswer::Declined, UserAnswer::Accepted))
//!     })
//!     .build();
//! let answer = client.prompt("Book me a seat.").call().await?;
//! # assert_eq!(answer.messages()[2].answers()[0].text.to_string(), "booked: \"aisle\"");
//! # Ok::<(), opentool_chat::ChatError>(())
//! # }).unwrap();
//! ```
//!
//! # A loop of your own
//!
//! With [`ChatOptions::with_internal_execution`] off, you run the calls of an answer, with the same parts: see
//! [`ToolCallingManager`]. An [`Eligibility`] predicate decides answer by answer.
//!
//! # Spans
//!
//! A turn is an `invoke_agent` span; below it each request to the model is a `chat MODEL` span and each call of a tool an
//! `execute_tool NAME` span, with OpenTelemetry's `gen_ai` attributes. Messages are in them only with
//! [`ChatModelBuilder::record_content`]. Every main step is a DEBUG event.
//!
//! # Features
//!
//! - `sqlite`: `SqliteMemory`, conversations in an SQLite file.
//! - `signing`: a [`RunState`] as a signed text.
//! - `testing`: a scripted model, a function model, and a guard against requests to real models.
//!
//! None is on by default.

mod answer_form;
mod answer_type;
mod assembly;
mod client;
mod definitions;
mod delta;
mod emitter;
mod error;
mod event;
mod exchange;
mod generation;
#[cfg(feature = "testing")]
mod guard;
mod manager;
mod media;
mod memory;
mod message;
mod middleware;
mod model;
mod options;
mod price;
mod prompt;
pub mod provider;
mod reasoning;
mod response;
mod response_format;
pub mod run_steps;
mod stream;
mod summary;
#[cfg(feature = "testing")]
pub mod testing;
mod turn_end;
mod typed_stream;
mod usage;

pub use answer_form::AnswerForm;
pub use answer_type::AnswerType;
pub use assembly::Assembly;
pub use client::{ChatClient, ChatClientBuilder, ChatRequest};
pub use definitions::ToolDefinitions;
pub use delta::{Delta, ToolCallDelta};
pub use error::{Cause, ChatError};
pub use event::ChatEvent;
pub use exchange::Exchange;
pub use futures_core::future::BoxFuture;
pub use futures_core::stream::BoxStream;
pub use generation::{FinishReason, Generation};
pub use manager::{DefaultToolCallingManager, Execution, ToolCallingManager, ToolEvents, ToolExecutionResult};
pub use media::{Media, MediaError, MediaKind};
#[cfg(feature = "sqlite")]
pub use memory::SqliteMemory;
pub use memory::{ChatMemory, InProcessMemory, MemoryError, TokenWindow, WINDOW, estimate_tokens, window};
pub use message::{AssistantMessage, Message, SystemMessage, ToolAnswer, ToolMessage, UserMessage, UserPart};
pub use middleware::{ConcurrencyLimit, Fallback, ModelMiddleware, RateLimit};
pub use model::{ChatModel, ChatModelBuilder, Eligibility};
pub use options::{AtLimit, ChatOptions, ToolChoice};
pub use price::{Price, PriceTable};
pub use prompt::Prompt;
pub use provider::{ModelRequest, Provider};
pub use reasoning::{ReasoningEffort, UnknownEffort};
pub use response::{ChatResponse, RunState};
pub use response_format::{ResponseFormat, TypedAnswers};
pub use stream::{ChatStream, TextStream};
pub use summary::SummarisingMemory;
pub use turn_end::TurnEnd;
pub use typed_stream::{AnswerEvent, TypedStream};
pub use usage::Usage;

/// The sample of the README is compiled and run.
#[cfg(all(doctest, feature = "testing"))]
#[doc = include_str!("../README.md")]
struct Readme;
