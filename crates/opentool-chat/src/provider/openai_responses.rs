//! OpenAI's Responses API: [`OpenAiResponses`].

mod data;
mod events;
mod format;
mod request;
mod response;

pub use self::format::OpenAiResponses;
