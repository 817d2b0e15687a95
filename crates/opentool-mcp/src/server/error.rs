//! What is wrong with a message: [`ProtocolError`].

use serde::Serialize;
use serde_json::{Value, json};

use super::revision::Revision;

/// The error of a JSON-RPC response.
///
/// What a tool has to say about its failure is no such error: it is a result, so that the model sees it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProtocolError {
    pub(crate) code: i32,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl ProtocolError {
    pub(crate) const PARSE: i32 = -32700;
    pub(crate) const INVALID_REQUEST: i32 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
    pub(crate) const INVALID_PARAMS: i32 = -32602;
    pub(crate) const INTERNAL: i32 = -32603;
    pub(crate) const HEADER_MISMATCH: i32 = -32020;
    pub(crate) const MISSING_CAPABILITY: i32 = -32021;
    pub(crate) const UNSUPPORTED_REVISION: i32 = -32022;

    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(crate) fn with_data(mut self, data: Option<&Value>) -> Self {
        self.data = data.cloned();
        self
    }

    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_REQUEST, message)
    }

    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Self::INTERNAL, message)
    }

    pub(crate) fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(Self::HEADER_MISMATCH, message)
    }

    pub(crate) fn method_not_found(method: &str) -> Self {
        Self::new(Self::METHOD_NOT_FOUND, format!("there is no method `{}`", shortened(method)))
    }

    /// The tool has a question, and the client has not said that it can ask it.
    pub(crate) fn cannot_ask() -> Self {
        let message = "the tool has a question, and the client does not declare the capability `elicitation`";
        let mut error = Self::new(Self::MISSING_CAPABILITY, message);
        error.data = Some(json!({ "requiredCapabilities": { "elicitation": {} } }));
        error
    }

    pub(crate) fn unsupported_revision(requested: &str) -> Self {
        let supported = Revision::ALL.map(Revision::as_str);
        let mut error = Self::new(
            Self::UNSUPPORTED_REVISION,
            format!(
                "the protocol version `{}` is not supported: take one of {}",
                shortened(requested),
                supported.join(", ")
            ),
        );
        error.data = Some(json!({ "supported": supported, "requested": shortened(requested) }));
        error
    }
}

/// The beginning of a text that a client sent, which need not come back as a whole.
fn shortened(text: &str) -> &str {
    const SHOWN: usize = 100;
    text.char_indices().nth(SHOWN).map_or(text, |(end, _)| &text[..end])
}
