//! JSON-RPC messages, read without copying what is in them: [`Message`], [`Params`].

use std::borrow::Cow;

use opentool_spec::json::{JsonError, JsonErrorKind, Lexer};

use super::error::ProtocolError;
use super::json_text::JsonText;
use super::members::read_members;

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
    /// The token under which the client wants notifications of progress.
    pub(crate) progress_token: Option<JsonText<'a>>,
    pub(crate) traceparent: Option<JsonText<'a>>,
    pub(crate) tracestate: Option<JsonText<'a>>,
    /// What makes a call the same one however often it is sent.
    pub(crate) idempotency_key: Option<JsonText<'a>>,
}

/// The members of a message, each as its text but for the parameters.
#[derive(Default)]
struct MessageMembers<'a> {
    jsonrpc: Option<JsonText<'a>>,
    id: Option<JsonText<'a>>,
    method: Option<JsonText<'a>>,
    params_text: Option<JsonText<'a>>,
    result: Option<JsonText<'a>>,
    error: Option<JsonText<'a>>,
    /// A message whose parameters are wrong is still answered under its id, which may come after them.
    params_error: Option<ProtocolError>,
    repeated: Option<&'static str>,
}

impl<'a> Message<'a> {
    /// Reads a message from its text, in one pass.
    pub(crate) fn read(text: &'a [u8]) -> Result<Self, Unreadable<'a>> {
        let text = read_utf8(text)?;
        let mut params = Params::default();
        let members = MessageMembers::read(text, &mut params).map_err(|error| not_json(&error.describe(text)))?;
        let invalid = |message: &str, id| Unreadable { error: ProtocolError::invalid_request(message), id };
        let Some(members) = members else { return Err(invalid("a message is one JSON object", None)) };
        let MessageMembers { jsonrpc, id: given_id, method, result, error, params_error, repeated, .. } = members;
        if let Some(name) = repeated {
            return Err(invalid(&format!("`{name}` is there twice"), None));
        }
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
        if let Some(error) = params_error {
            return Err(Unreadable { error, id });
        }
        match (given_id, id) {
            (None, _) => Ok(Self::Notification { method, params }),
            (Some(_), Some(id)) => Ok(Self::Request { id, method, params }),
            (Some(_), None) => Err(invalid("`id` must be a string or an integer", id)),
        }
    }

    /// Says whether a text is an array: not one message but perhaps several.
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

impl<'a> MessageMembers<'a> {
    /// Reads the members of a message, and its parameters; none where the text is no object.
    fn read(text: &'a str, params: &mut Params<'a>) -> Result<Option<Self>, JsonError> {
        let mut lexer = Lexer::new(text);
        lexer.skip_whitespace();
        if lexer.peek() != Some(b'{') {
            lexer.skip_unlimited_value()?;
            return lexer.expect_end().map(|()| None);
        }
        let mut read = Self::default();
        read_members(&mut lexer, |name, lexer| {
            let (name, value) = match name {
                "jsonrpc" => ("jsonrpc", &mut read.jsonrpc),
                "id" => ("id", &mut read.id),
                "method" => ("method", &mut read.method),
                "params" => ("params", &mut read.params_text),
                "result" => ("result", &mut read.result),
                "error" => ("error", &mut read.error),
                _ => return lexer.skip_unlimited_value(),
            };
            let start = lexer.position();
            if name == "params" {
                params.read(lexer, &mut read.params_error)?;
            } else {
                lexer.skip_unlimited_value()?;
            }
            if value.replace(JsonText::known(lexer.since(start))).is_some() {
                read.repeated = Some(name);
            }
            Ok(())
        })?;
        lexer.expect_end().map(|()| Some(read))
    }
}

impl<'a> Params<'a> {
    /// Reads the parameters; what is wrong with them, though it is JSON, goes to `error`.
    fn read(&mut self, lexer: &mut Lexer<'a>, error: &mut Option<ProtocolError>) -> Result<(), JsonError> {
        if lexer.peek() != Some(b'{') {
            return skip_no_object(lexer, "`params`", error);
        }
        let (mut meta_text, mut repeated) = (None, None);
        read_members(lexer, |name, lexer| {
            let (name, value) = match name {
                "_meta" => ("_meta", &mut meta_text),
                "name" => ("name", &mut self.name),
                "arguments" => ("arguments", &mut self.arguments),
                "cursor" => ("cursor", &mut self.cursor),
                "notifications" => ("notifications", &mut self.notifications),
                "protocolVersion" => ("protocolVersion", &mut self.protocol_version),
                "capabilities" => ("capabilities", &mut self.capabilities),
                "inputResponses" => ("inputResponses", &mut self.input_responses),
                "requestState" => ("requestState", &mut self.request_state),
                "requestId" => ("requestId", &mut self.request_id),
                _ => return lexer.skip_unlimited_value(),
            };
            let start = lexer.position();
            if name == "_meta" {
                self.meta.read(lexer, error)?;
            } else {
                lexer.skip_unlimited_value()?;
            }
            if value.replace(JsonText::known(lexer.since(start))).is_some() {
                repeated = Some(name);
            }
            Ok(())
        })?;
        let Self { name, arguments, cursor, notifications, .. } = self;
        drop_nulls([name, arguments, cursor, notifications]);
        let Self { protocol_version, capabilities, input_responses, request_state, request_id, .. } = self;
        drop_nulls([protocol_version, capabilities, input_responses, request_state, request_id]);
        note_repeated(repeated, error);
        Ok(())
    }
}

impl<'a> Meta<'a> {
    fn read(&mut self, lexer: &mut Lexer<'a>, error: &mut Option<ProtocolError>) -> Result<(), JsonError> {
        if lexer.peek() != Some(b'{') {
            return skip_no_object(lexer, "`_meta`", error);
        }
        let mut repeated = None;
        read_members(lexer, |name, lexer| {
            let (name, value) = match name {
                "io.modelcontextprotocol/protocolVersion" => {
                    ("io.modelcontextprotocol/protocolVersion", &mut self.revision)
                }
                "io.modelcontextprotocol/clientCapabilities" => {
                    ("io.modelcontextprotocol/clientCapabilities", &mut self.capabilities)
                }
                "progressToken" => ("progressToken", &mut self.progress_token),
                "traceparent" => ("traceparent", &mut self.traceparent),
                "tracestate" => ("tracestate", &mut self.tracestate),
                "dev.opentool/idempotency-key" => ("dev.opentool/idempotency-key", &mut self.idempotency_key),
                _ => return lexer.skip_unlimited_value(),
            };
            let start = lexer.position();
            lexer.skip_unlimited_value()?;
            if value.replace(JsonText::known(lexer.since(start))).is_some() {
                repeated = Some(name);
            }
            Ok(())
        })?;
        let Self { revision, capabilities, progress_token, traceparent, tracestate, idempotency_key } = self;
        drop_nulls([revision, capabilities, traceparent, tracestate, idempotency_key]);
        *progress_token = progress_token.filter(|token| token.is_id());
        note_repeated(repeated, error);
        Ok(())
    }
}

/// Steps over what should be an object and is none; `null` counts as nothing.
fn skip_no_object(lexer: &mut Lexer<'_>, name: &str, error: &mut Option<ProtocolError>) -> Result<(), JsonError> {
    let is_null = lexer.peek() == Some(b'n');
    lexer.skip_unlimited_value()?;
    if !is_null {
        error.get_or_insert_with(|| ProtocolError::invalid_params(format!("{name} must be an object")));
    }
    Ok(())
}

fn note_repeated(name: Option<&str>, error: &mut Option<ProtocolError>) {
    if let Some(name) = name {
        error.get_or_insert_with(|| ProtocolError::invalid_params(format!("`{name}` is there twice")));
    }
}

/// Members that are `null` count as absent.
fn drop_nulls<const N: usize>(members: [&mut Option<JsonText<'_>>; N]) {
    for member in members {
        *member = not_null(*member);
    }
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
