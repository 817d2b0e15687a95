//! The wire format of the Responses API.

use bytes::Bytes;
use opentool_http::{Framing, Url};

use super::data::NAME;
use super::events::ResponseEvents;
use super::request::ResponsesBody;
use super::response::read_response;
use crate::provider::http_provider::HttpProvider;
use crate::provider::model_info::ModelInfo;
use crate::provider::openai::{address, is_openai_host, operation_url, read_models};
use crate::provider::wire::{KeyHeader, Variables, WireError, WireFormat, WireRequest};
use crate::{ChatError, ChatResponse, TypedAnswers};

/// Models behind OpenAI's Responses API: OpenAI itself, and servers with the same interface.
///
/// Nothing is stored at OpenAI (`store` is false): the whole conversation is sent each time, and the model's reasoning goes back to
/// it, encrypted, in its place. The interface has no stop sequences. Options that only OpenAI knows go into
/// [`ChatOptions::extra`](crate::ChatOptions::extra), for instance `reasoning` with a `summary`, without which OpenAI keeps the
/// model's thoughts to itself.
///
/// ```
/// use opentool_chat::provider::OpenAiResponses;
///
/// let model = OpenAiResponses::new("gpt-5-mini").api_key("s3cret");
/// # let _ = model;
/// ```
pub type OpenAiResponses = HttpProvider<ResponsesFormat>;

/// The wire format of [`OpenAiResponses`].
#[derive(Clone, Debug, Default)]
pub struct ResponsesFormat {
    strict: bool,
}

/// What requests go to, below the base URL.
const OPERATION: &str = "responses";

impl OpenAiResponses {
    /// Sets whether arguments must follow the schemas exactly, for every schema that allows it; off by default.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.format.strict = strict;
        self
    }
}

impl WireFormat for ResponsesFormat {
    const NAME: &'static str = NAME;
    const VARIABLES: Variables = address::VARIABLES;
    const BASE_URL: &'static str = address::BASE_URL;
    const KEY_HEADER: KeyHeader = KeyHeader::Bearer;
    const FRAMING: Framing = Framing::Events;
    type Reader = ResponseEvents;

    /// A base URL without a path means `/v1`.
    fn endpoint(base_url: &str) -> Result<Url, String> {
        operation_url(base_url, OPERATION)
    }

    fn models_url(&self, endpoint: &Url) -> Url {
        address::models_url(endpoint, OPERATION)
    }

    fn typed_answers(&self, host: Option<&str>, _with_tools: bool) -> TypedAnswers {
        match is_openai_host(host) {
            true => TypedAnswers::Native,
            // Servers with the same interface know tools; llama.cpp, for one, takes the response format and does not follow it.
            false => TypedAnswers::ForcedTool,
        }
    }

    fn write_request(&self, request: WireRequest<'_>) -> Result<Bytes, ChatError> {
        ResponsesBody { strict: self.strict, is_openai: is_openai_host(request.host) }.write(request)
    }

    fn read_response(text: &str) -> Result<ChatResponse, WireError> {
        read_response(text)
    }

    fn read_models(text: &str) -> Result<Vec<ModelInfo>, WireError> {
        read_models(text)
    }
}
