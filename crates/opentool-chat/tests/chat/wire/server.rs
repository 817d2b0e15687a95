//! Answers of a provider: a [`Reply`] for the scripted server of the test kit.

use opentool_http::testing::Step;
pub(crate) use opentool_http::testing::{SeenRequest, Server};

/// What the server does after it has written the bytes.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) enum Then {
    /// Wait for the next request.
    #[default]
    Listen,
    /// Close the connection.
    Close,
    /// Do nothing until the client closes the connection.
    Hang,
    /// Write the body again and again until the client closes the connection.
    Repeat,
}

#[derive(Clone, Default)]
pub(crate) struct Reply {
    head: String,
    body: Vec<u8>,
    then: Then,
}

impl Reply {
    /// A whole answer.
    pub(crate) fn new(status: u16, content_type: &str, body: &str) -> Self {
        let length = body.len();
        let head = format!("HTTP/1.1 {status} So\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n");
        Self { head, body: body.into(), then: Then::Listen }
    }

    pub(crate) fn json(status: u16, body: &str) -> Self {
        Self::new(status, "application/json", body)
    }

    pub(crate) fn html(status: u16) -> Self {
        Self::new(status, "text/html; charset=utf-8", "<!doctype html><title>Bad Gateway</title><h1>Oops</h1>")
    }

    /// An answer in chunks, which the client sees one by one however the network carries them.
    pub(crate) fn chunks<'a>(content_type: &str, chunks: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut reply = Self::unfinished(content_type, chunks);
        reply.body.extend_from_slice(b"0\r\n\r\n");
        Self { then: Then::Listen, ..reply }
    }

    /// An answer in chunks that breaks off.
    pub(crate) fn unfinished<'a>(content_type: &str, chunks: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n");
        let mut body = Vec::new();
        for chunk in chunks.into_iter().filter(|chunk| !chunk.is_empty()) {
            body.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            body.extend_from_slice(chunk);
            body.extend_from_slice(b"\r\n");
        }
        Self { head, body, then: Then::Close }
    }

    /// No answer at all.
    pub(crate) fn silence() -> Self {
        Self { then: Then::Hang, ..Self::default() }
    }

    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    pub(crate) fn then(self, then: Then) -> Self {
        Self { then, ..self }
    }
}

impl From<Reply> for Vec<Step> {
    fn from(reply: Reply) -> Self {
        let Reply { head, body, then } = reply;
        let mut steps = Vec::new();
        if !head.is_empty() {
            steps.push(Step::Write([head.as_bytes(), b"\r\n", &body].concat()));
        }
        match then {
            Then::Listen => {}
            Then::Close => steps.push(Step::Close),
            Then::Hang => steps.push(Step::Hang),
            Then::Repeat => steps.push(Step::Repeat(body)),
        }
        steps
    }
}
