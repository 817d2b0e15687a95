//! JSON-RPC messages, read without copying what is in them: [`Message`], [`Params`].

use std::borrow::Cow;

use opentool_spec::json::{JsonError, JsonErrorKind, Lexer};

use super::error::ProtocolError;
use super::json_text::JsonText;
use super::members::Members;

/// A message of a client.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request {
        id: JsonText<'a>,
        method: Cow<'a, str>,
        params: Params<'a>,
    },
    Notification {
        method: Cow<'a, str>,
        params: Params<'a>,
    },
    /// The answer to a request of ours; without a result it is an error.
    Response {
        id: JsonText<'a>,
        result: Option<JsonText<'a>>,
    },
}

/// A message that cannot be answered as one, and the id that the answer carries, where it could be read.
#[derive(Debug)]
pub(crate) struct Unreadable<'a> {
    pub(crate) error: ProtocolError,
    pub(crate) id: Option<JsonText<'a>>,
}

/// The parameters that any of the methods takes, each as its text.
#[derive(Debug, Default)]
pub(crate) struct Params<'a> {
    pub(crate) meta: Meta<'a>,
    pub(crate) name: Option<JsonText<'a>>,
    pub(crate) arguments: Option<JsonText<'a>>,
    pub(crate) cursor: Option<JsonText<'a>>,
    /// Of `subscriptions/listen`.
    pub(crate) notifications: Option<JsonText<'a>>,
    /// Of `initialize`.
    pub(crate) protocol_version: Option<JsonText<'a>>,
    pub(crate) capabilities: Option<JsonText<'a>>,
    /// Of `tools/call`, where it is made again with answers.
    pub(crate) input_responses: Option<JsonText<'a>>,
    pub(crate) request_state: Option<JsonText<'a>>,
    /// Of `notifications/cancelled`.
    pub(crate) request_id: Option<JsonText<'a>>,
}

/// What a request says about itself.
#[derive(Debug, Default)]
pub(crate) struct Meta<'a> {
    pub(crate) revision: Option<JsonText<'a>>,
    pub(crate) capabilities: Option<JsonText<'a>>,
    /// The token under which the client wants to hear of progress.
    pub(crate) progress_token: Option<JsonText<'a>>,
    pub(crate) traceparent: Option<JsonText<'a>>,
    pub(crate) tracestate: Option<JsonText<'a>>,
    /// What makes a call the same one however often it is sent.
    pub(crate) idempotency_key: Option<JsonText<'a>>,
}

const MESSAGE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

const PARAMS: [&str; 10] = [
    "_meta",
    "name",
    "arguments",
    "cursor",
    "notifications",
    "protocolVersion",
    "capabilities",
    "inputResponses",
    "requestState",
    "requestId",
];

const META: [&str; 6] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities",
    "progressToken",
    "traceparent",
    "tracestate",
    "dev.opentool/idempotency-key",
];

impl<'a> Message<'a> {
    /// Reads a message from its text, in one pass.
    pub(crate) fn read(text: &'a [u8]) -> Result<Self, Unreadable<'a>> {
        let text = read_utf8(text)?;
        let mut params = Ok(Params::default());
        let members = read_members(text, &mut params).map_err(|error| not_json(&error.describe(text)))?;
        let invalid = |message: &str, id| Unreadable { error: ProtocolError::invalid_request(message), id };
        let Some(Members { values, repeated }) = members else {
            return Err(invalid("a message is one JSON object", None));
        };
        if let Some(name) = repeated {
            return Err(invalid(&format!("`{name}` is there twice"), None));
        }
        let [jsonrpc, given_id, method, _, result, error] = values;
        let id = given_id.filter(|id| id.is_id());
        if jsonrpc.map(JsonText::get) != Some(r#""2.0""#) {
            return Err(invalid(r#"`jsonrpc` must be "2.0""#, id));
        }
        let (result, error) = (not_null(result), not_null(error));
        let Some(method) = not_null(method) else {
            return match id {
                Some(id) if result.is_some() || error.is_some() => Ok(Self::Response { id, result }),
                _ => Err(invalid("`method` is missing", id)),
            };
        };
        let Some(method) = method.string() else { return Err(invalid("`method` must be a string", id)) };
        let params = params.map_err(|error| Unreadable { error, id })?;
        match (given_id, id) {
            (None, _) => Ok(Self::Notification { method, params }),
            (Some(_), Some(id)) => Ok(Self::Request { id, method, params }),
            (Some(_), None) => Err(invalid("`id` must be a string or an integer", id)),
        }
    }

    /// Says whether a text is an array, hence not one message but perhaps several.
    pub(crate) fn is_array(text: &[u8]) -> bool {
        text.trim_ascii_start().starts_with(b"[")
    }

    /// Reads the messages of an array, and of more than so many only so many: a list of all would be many times larger than a text of
    /// short ones.
    pub(crate) fn split(text: &'a [u8], limit: usize) -> Result<Vec<JsonText<'a>>, Unreadable<'a>> {
        let text = read_utf8(text)?;
        read_elements(text, limit).map_err(|error| not_json(&error.describe(text)))
    }
}

fn read_utf8(text: &[u8]) -> Result<&str, Unreadable<'static>> {
    std::str::from_utf8(text)
        .map_err(|error| not_json(&format!("it is not UTF-8 from byte {} on", error.valid_up_to() + 1)))
}

/// Reads the first elements of an array.
fn read_elements(text: &str, limit: usize) -> Result<Vec<JsonText<'_>>, JsonError> {
    let mut lexer = Lexer::new(text);
    let mut elements = Vec::new();
    lexer.expect(b'[', JsonErrorKind::Value)?;
    lexer.skip_whitespace();
    let mut ended = lexer.eat(b']');
    while !ended {
        lexer.skip_whitespace();
        let start = lexer.position();
        lexer.skip_unlimited_value()?;
        if elements.len() < limit {
            elements.push(JsonText::known(lexer.since(start)));
        }
        ended = lexer.closes(false)?;
    }
    lexer.expect_end().map(|()| elements)
}

fn not_json(reason: &str) -> Unreadable<'static> {
    let error = ProtocolError::new(ProtocolError::PARSE, format!("the message is not JSON: {reason}"));
    Unreadable { error, id: None }
}

/// What came of the parameters: a message whose parameters are wrong is still answered under its id, which may come after them.
type ReadParams<'a> = Result<Params<'a>, ProtocolError>;

/// Reads the members of a message, and its parameters; none where the text is no object.
fn read_members<'a>(text: &'a str, params: &mut ReadParams<'a>) -> Result<Option<Members<'a, 6>>, JsonError> {
    let mut lexer = Lexer::new(text);
    lexer.skip_whitespace();
    let members = if lexer.peek() == Some(b'{') {
        Some(Members::read_with(&mut lexer, MESSAGE, |name, lexer| match name {
            "params" => Params::read(lexer).map(|read| *params = read),
            _ => lexer.skip_unlimited_value(),
        })?)
    } else {
        lexer.skip_unlimited_value()?;
        None
    };
    lexer.expect_end().map(|()| members)
}

impl<'a> Params<'a> {
    fn read(lexer: &mut Lexer<'a>) -> Result<ReadParams<'a>, JsonError> {
        if lexer.peek() != Some(b'{') {
            return no_object(lexer, "`params`");
        }
        let mut meta = Ok(Meta::default());
        let Members { values, repeated } = Members::read_with(lexer, PARAMS, |name, lexer| match name {
            "_meta" => Meta::read(lexer).map(|read| meta = read),
            _ => lexer.skip_unlimited_value(),
        })?;
        let [
            _,
            name,
            arguments,
            cursor,
            notifications,
            protocol_version,
            capabilities,
            input_responses,
            request_state,
            request_id,
        ] = values.map(not_null);
        let meta = match (meta, repeated) {
            (Ok(meta), None) => meta,
            (Err(error), _) => return Ok(Err(error)),
            (_, Some(name)) => return Ok(Err(given_twice(name))),
        };
        Ok(Ok(Self {
            meta,
            name,
            arguments,
            cursor,
            notifications,
            protocol_version,
            capabilities,
            input_responses,
            request_state,
            request_id,
        }))
    }
}

impl<'a> Meta<'a> {
    fn read(lexer: &mut Lexer<'a>) -> Result<Result<Self, ProtocolError>, JsonError> {
        if lexer.peek() != Some(b'{') {
            return no_object(lexer, "`_meta`");
        }
        let Members { values, repeated } = Members::read(lexer, META)?;
        let [revision, capabilities, progress_token, traceparent, tracestate, idempotency_key] = values.map(not_null);
        Ok(match repeated {
            None => Ok(Self {
                revision,
                capabilities,
                progress_token: progress_token.filter(|token| token.is_id()),
                traceparent,
                tracestate,
                idempotency_key,
            }),
            Some(name) => Err(given_twice(name)),
        })
    }
}

/// Reads what should be an object and is none; `null` counts as nothing.
fn no_object<T: Default>(lexer: &mut Lexer<'_>, name: &str) -> Result<Result<T, ProtocolError>, JsonError> {
    let is_null = lexer.peek() == Some(b'n');
    lexer.skip_unlimited_value()?;
    Ok(if is_null { Ok(T::default()) } else { Err(ProtocolError::invalid_params(format!("{name} must be an object"))) })
}

fn given_twice(name: &str) -> ProtocolError {
    ProtocolError::invalid_params(format!("`{name}` is there twice"))
}

/// A member that is `null` counts as absent.
fn not_null(member: Option<JsonText<'_>>) -> Option<JsonText<'_>> {
    member.filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    #[test]
    fn arguments_are_borrowed_as_they_came() {
        let text = br#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"f","arguments":{"n":1180591620717411303424,"n":1.0}}}"#;
        let Message::Request { id, method, params } = Message::read(text).unwrap() else { panic!("no request") };
        assert_eq!((id.get(), &*method), (r#""a""#, "tools/call"));
        assert_eq!(params.arguments.unwrap().get(), r#"{"n":1180591620717411303424,"n":1.0}"#);
    }

    #[test]
    fn what_is_no_message_has_the_code_that_says_why() {
        for (text, code) in [
            ("{", ProtocolError::PARSE),
            ("nonsense", ProtocolError::PARSE),
            ("[]", ProtocolError::INVALID_REQUEST),
            (r#"["2.0",1,"ping",{},null,null]"#, ProtocolError::INVALID_REQUEST),
            ("7", ProtocolError::INVALID_REQUEST),
            ("{}", ProtocolError::INVALID_REQUEST),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, ProtocolError::INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, ProtocolError::INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, ProtocolError::INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, ProtocolError::INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, ProtocolError::INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, ProtocolError::INVALID_PARAMS),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":1}}"#, ProtocolError::INVALID_PARAMS),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":["a",{},1,"b","c"]}}"#,
                ProtocolError::INVALID_PARAMS,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[{},"n",{},"c",[],"v",{},{},"s",1]}"#,
                ProtocolError::INVALID_PARAMS,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"f","params":{"name":"a","name":"b"}}"#,
                ProtocolError::INVALID_PARAMS,
            ),
        ] {
            assert_eq!(Message::read(text.as_bytes()).unwrap_err().error.code, code, "{text}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_no_json() {
        let error = Message::read(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}").unwrap_err().error;
        assert_eq!(error.code, ProtocolError::PARSE);
        let shown = serde_json::to_string(&error).unwrap();
        assert!(shown.contains("not UTF-8 from byte 35 on"), "{shown}");
    }

    #[test]
    fn of_a_long_batch_only_the_beginning_is_kept() {
        let length = |text: &str| Message::split(text.as_bytes(), 3).ok().map(|messages| messages.len());
        assert_eq!((length("[]"), length(" [1,[2]] "), length("{}")), (Some(0), Some(2), None));
        assert_eq!(length(&format!("[{}1]", "[],".repeat(1000))), Some(3));
        assert_eq!((length("[1,2,3,4"), length("[1,2,3,nonsense]"), length("[1] 2")), (None, None, None));
    }

    #[test]
    fn deep_nesting_costs_no_stack() {
        let deep = |close: &str| {
            let (open, close) = ("[".repeat(200_000), close.repeat(200_000));
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"arguments":{{"a":{open}{close}}}}}}}"#)
        };
        assert!(Message::read(deep("]").as_bytes()).is_ok());
        assert!(Message::read(deep("").as_bytes()).is_err());
    }
}
