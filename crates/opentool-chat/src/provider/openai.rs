//! OpenAI's chat completions, and the many servers with the same interface: [`OpenAi`].

mod data;
mod format;
mod request;
mod response;
#[cfg(test)]
mod tests;

pub use self::format::OpenAi;
