//! Google's Gemini: [`Gemini`].

mod data;
mod format;
mod request;
mod response;
#[cfg(test)]
mod tests;

pub use self::format::Gemini;
