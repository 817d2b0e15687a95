//! OpenAI's chat completions, and the many servers with the same interface: [`OpenAi`], [`Preset`].

pub(super) mod address;
mod content;
mod data;
mod format;
mod models;
mod named_server;
mod preset;
mod request;
mod response;
#[cfg(test)]
mod tests;

pub(super) use self::address::{is_openai_host, operation_url};
pub use self::format::OpenAi;
pub(super) use self::models::read_models;
pub use self::preset::{Preset, UnknownPreset};
pub(super) use self::request::OpenAiBody;
pub(super) use self::response::{CompletionChunks, read_completion};
