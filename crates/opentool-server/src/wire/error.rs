//! What is wrong with a request: [`RequestError`].

use opentool_spec::rpc::RpcError;

/// Why the body of a request asks for nothing that can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// It is no JSON.
    NotJson(String),
    /// It is JSON, but no request.
    Invalid(String),
    /// It is a request whose parameters are no object.
    InvalidParams(String),
}

impl RequestError {
    /// Returns the code of JSON-RPC.
    pub(crate) fn code(&self) -> i32 {
        match self {
            Self::NotJson(_) => RpcError::PARSE_ERROR,
            Self::Invalid(_) => RpcError::INVALID_REQUEST,
            Self::InvalidParams(_) => RpcError::INVALID_PARAMS,
        }
    }

    pub(crate) fn into_message(self) -> String {
        match self {
            Self::NotJson(message) | Self::Invalid(message) | Self::InvalidParams(message) => message,
        }
    }
}
