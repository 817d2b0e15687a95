//! What one provider's wire looks like: [`WireFormat`].

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;
use opentool_http::{Frame, Framing, Url};
use reqwest::header::{AUTHORIZATION, HeaderName};

use super::error::WireError;
use crate::provider::request::ModelRequest;
use crate::{ChatError, ChatResponse, Delta, TypedAnswers};

/// One provider's wire format: the only thing that a new provider has to write.
///
/// Retries, time limits, sizes, redaction and the reading of streams are the business of
/// [`HttpProvider`](crate::provider::HttpProvider), once for all.
pub trait WireFormat: Clone + fmt::Debug + Default + Send + Sync + 'static {
    /// The name in OpenTelemetry's words (`gen_ai.provider.name`); a message keeps the provider's own data under it.
    const NAME: &'static str;
    /// The variables of the environment that configure the provider.
    const VARIABLES: Variables;
    /// The address where none is given.
    const BASE_URL: &'static str;
    /// The header that carries the key.
    const KEY_HEADER: KeyHeader;
    /// Headers that the wire demands.
    const HEADERS: &'static [(&'static str, &'static str)] = &[];
    /// How a streamed answer is cut into messages.
    const FRAMING: Framing;
    /// Reads a streamed answer.
    type Reader: StreamReader;

    /// Makes the URL that requests go to from a base URL.
    ///
    /// # Errors
    ///
    /// When it cannot be one: a sentence that names it.
    fn endpoint(base_url: &str) -> Result<Url, String>;

    /// Says how a model is held to the form of an answer, in a request with tools or without.
    fn typed_answers(&self, with_tools: bool) -> TypedAnswers;

    /// Writes the body of a request.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    fn write_request(&self, request: WireRequest<'_>) -> Result<Bytes, ChatError>;

    /// Reads a whole answer.
    ///
    /// # Errors
    ///
    /// When it is none.
    fn read_response(text: &str) -> Result<ChatResponse, WireError>;
}

/// The names of environment variables.
#[derive(Clone, Copy, Debug)]
pub struct Variables {
    /// The key.
    pub key: &'static str,
    /// The address.
    pub url: &'static str,
    /// The model that is asked where the options name none.
    pub model: &'static str,
    /// Whether a key or an address must be set.
    pub required: bool,
}

/// The header that carries a key.
#[derive(Clone, Copy, Debug)]
pub enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// `x-api-key: KEY`.
    XApiKey,
}

impl KeyHeader {
    pub(crate) fn name(self) -> HeaderName {
        match self {
            Self::Bearer => AUTHORIZATION,
            Self::XApiKey => HeaderName::from_static("x-api-key"),
        }
    }

    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Bearer => "Bearer ",
            Self::XApiKey => "",
        }
    }
}

/// A request that is to be written.
#[derive(Clone, Copy, Debug)]
pub struct WireRequest<'a> {
    /// The model to ask.
    pub model: &'a str,
    /// The host that is asked.
    pub host: Option<&'a str>,
    /// The conversation, options and tools.
    pub request: ModelRequest<'a>,
    /// Whether the answer is to be streamed.
    pub stream: bool,
}

/// Reads a streamed answer, message by message.
pub trait StreamReader: Default + Send {
    /// Reads the next message and appends its deltas.
    ///
    /// # Errors
    ///
    /// When the message is an error, or cannot be read.
    fn read(&mut self, frame: &Frame, deltas: &mut VecDeque<Delta>) -> Result<StreamProgress, WireError>;

    /// Says whether the answer is complete if the stream ends here.
    fn is_complete(&self) -> bool;
}

/// Whether more is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamProgress {
    /// The answer goes on.
    More,
    /// The end was announced.
    Done,
}
