//! Answers that are ready: [`Answer`].

use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER};
use opentool_server::FrontendResponse;

use super::headers;
use crate::server::answer;
use crate::server::error::ProtocolError;
use crate::server::json_text::JsonText;

/// An answer that is ready.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) message: Vec<u8>,
    /// The session that it begins.
    pub(super) session: Option<String>,
}

impl Answer {
    pub(super) fn new(status: StatusCode, message: Vec<u8>) -> Self {
        Self { status, message, session: None }
    }

    pub(super) fn ok(message: Vec<u8>) -> Self {
        Self::new(StatusCode::OK, message)
    }

    pub(super) fn bad_request(id: Option<JsonText<'_>>, error: &ProtocolError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, answer::error(id, error))
    }
}

impl From<Answer> for FrontendResponse {
    fn from(answer: Answer) -> Self {
        let mut response = Self::json(answer.status, answer.message);
        if answer.status == StatusCode::SERVICE_UNAVAILABLE {
            response = response.with_header(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        match answer.session.and_then(|id| HeaderValue::from_str(&id).ok()) {
            Some(id) => response.with_header(headers::SESSION, id),
            None => response,
        }
    }
}
