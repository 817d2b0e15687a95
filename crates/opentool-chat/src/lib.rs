//! Models that call tools.

mod assembly;
mod client;
mod definitions;
mod delta;
mod emitter;
mod error;
mod event;
mod exchange;
mod manager;
mod memory;
mod message;
mod model;
mod options;
mod prompt;
pub mod provider;
mod response;
#[cfg(feature = "testing")]
pub mod testing;

pub use assembly::Assembly;
pub use client::{ChatClient, ChatClientBuilder, ChatRequest};
pub use definitions::ToolDefinitions;
pub use delta::{Delta, ToolCallDelta};
pub use error::{Cause, ChatError};
pub use event::{ChatEvent, ChatStream};
pub use exchange::{Exchange, RunState};
pub use futures_core::future::BoxFuture;
pub use futures_core::stream::BoxStream;
pub use manager::{DefaultToolCallingManager, Execution, ToolCallingManager, ToolEvents, ToolExecutionResult};
#[cfg(feature = "sqlite")]
pub use memory::SqliteMemory;
pub use memory::{ChatMemory, InProcessMemory, MemoryError, WINDOW, window};
pub use message::{AssistantMessage, Message, SystemMessage, ToolAnswer, ToolMessage, UserMessage};
pub use model::{ChatModel, ChatModelBuilder, Eligibility};
pub use options::{ChatOptions, ToolChoice};
pub use prompt::Prompt;
pub use provider::{Provider, Request};
pub use response::{ChatResponse, FinishReason, Generation, Usage};
