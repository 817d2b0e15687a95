//! Providers on the wire: real HTTP, against a server that says what each of them may say.

mod anthropic;
mod cancelled;
mod failures;
mod fixtures;
mod gemini;
mod limits;
mod loops;
mod media;
mod ollama;
mod openai;
mod presets;
mod responses;
mod secrets;
mod sent;
mod server;
mod streams;
mod support;
mod tls;
mod torn;
mod turns;
