//! Ollama's `/api/chat`: [`Ollama`].

mod format;
mod request;
mod response;
#[cfg(test)]
mod tests;

pub use self::format::Ollama;
