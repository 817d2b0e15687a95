//! Answers for the scripted server of the test kit.

pub(crate) use opentool_http::testing::{Server, Step};

pub(crate) type Reply = Vec<Step>;

/// A whole answer with a status and a body.
pub(crate) fn reply(status: u16, content_type: &str, body: &str) -> Reply {
    let head =
        format!("HTTP/1.1 {status} Whatever\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n", body.len());
    vec![Step::Write([head.as_bytes(), body.as_bytes()].concat())]
}

pub(crate) fn json(status: u16, body: &str) -> Reply {
    reply(status, "application/json", body)
}

pub(crate) fn html(status: u16) -> Reply {
    reply(status, "text/html", "<!doctype html><title>Oops</title>")
}

/// A good answer to a call.
pub(crate) fn result(result: &str) -> Reply {
    json(200, &format!(r#"{{"jsonrpc":"2.0","result":{result},"error":null,"id":"1"}}"#))
}

/// A refusal of a call.
pub(crate) fn error(code: i32, message: &str) -> Reply {
    let message = serde_json::to_string(message).unwrap();
    json(200, &format!(r#"{{"jsonrpc":"2.0","result":{{}},"error":{{"code":{code},"message":{message}}},"id":"1"}}"#))
}

/// A stream of events in pieces, ended by closing the connection.
pub(crate) fn events<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Reply {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let mut steps = vec![Step::Write(head.into())];
    steps.extend(pieces.into_iter().map(|piece| Step::Write(piece.into())));
    steps.push(Step::Close);
    steps
}
