//! Where the models are: [`Provider`], which asks a model once.
//!
//! [`OpenAi`] is for OpenAI and every server with the same interface, of which [`Preset`] knows some by name; [`OpenAiResponses`]
//! for OpenAI's newer interface, [`AzureOpenAi`] for Azure, [`Anthropic`] for Anthropic, [`Gemini`] for Google's models, [`Ollama`]
//! for Ollama. They take
//! keys and addresses from arguments or the environment, repeat a request when a provider is overloaded, limit the time and size
//! of an answer, follow no redirects, and send a key to its provider only.
//!
//! All of them are an [`HttpProvider`] over the exchange of `opentool-http`; what is theirs is a wire format, in a folder of its own.

mod anthropic;
mod azure;
mod connection;
mod delta_stream;
mod gemini;
mod http_provider;
mod interface;
mod model_info;
mod ollama;
mod openai;
mod openai_responses;
mod request;
mod settings;
mod wire;

pub use self::anthropic::Anthropic;
pub use self::azure::AzureOpenAi;
pub use self::gemini::Gemini;
pub use self::http_provider::HttpProvider;
pub use self::interface::{Provider, permit_request};
pub use self::model_info::ModelInfo;
pub use self::ollama::Ollama;
pub use self::openai::{OpenAi, Preset, UnknownPreset};
pub use self::openai_responses::OpenAiResponses;
pub use self::request::ModelRequest;
