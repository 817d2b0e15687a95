#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! Lower layers first: [`base_url`] and [`ApiKey`]; [`RetryPolicy`] and the reading of `Retry-After`; [`FrameParser`], which
//! cuts a body into messages; [`HttpResponse`], a body with its limits; [`HttpClient`], which sends.

mod client;
mod error;
mod frame;
mod key;
mod response;
mod retry;
mod retry_after;
mod setup;
#[cfg(feature = "testing")]
pub mod testing;
mod url;

pub use self::client::{HttpClient, HttpConfig, HttpRequest};
pub use self::error::{HttpError, SetupError};
pub use self::frame::{Frame, FrameParser, Framing};
pub use self::key::{ApiKey, Secrets, UnsendableKey, secret_header};
pub use self::response::{FrameStream, HttpResponse, StreamLimit};
pub use self::retry::{FailedAttempt, RetryPolicy};
pub use self::retry_after::retry_after;
pub use self::url::{InvalidUrl, base_url};
pub use reqwest::Url;
