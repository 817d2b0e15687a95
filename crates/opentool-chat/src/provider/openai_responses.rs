//! OpenAI's Responses API: [`OpenAiResponses`].

mod data;
mod events;
mod format;
mod request;
mod response;
#[cfg(test)]
mod tests;

pub use self::format::OpenAiResponses;
