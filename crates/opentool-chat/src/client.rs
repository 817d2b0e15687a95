//! The usual way to ask a model: [`ChatClient`].

mod as_tool;
mod builder;
mod chat_client;
mod request;

pub use self::builder::ChatClientBuilder;
pub use self::chat_client::ChatClient;
pub use self::request::ChatRequest;
