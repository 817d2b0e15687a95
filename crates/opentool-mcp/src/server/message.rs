//! JSON-RPC messages, read without copying what is in them: [`Message`], [`Params`].

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::error::ProtocolError;

/// A message of a client.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request {
        id: &'a RawValue,
        method: Cow<'a, str>,
        params: Params<'a>,
    },
    Notification {
        method: Cow<'a, str>,
        params: Params<'a>,
    },
    /// The answer to a request of ours; without a result it is an error.
    Response {
        id: &'a RawValue,
        result: Option<&'a RawValue>,
    },
}

/// A message that cannot be answered as one, and the id that the answer carries, where it could be read.
#[derive(Debug)]
pub(crate) struct Unreadable<'a> {
    pub(crate) error: ProtocolError,
    pub(crate) id: Option<&'a RawValue>,
}

/// The members of a message, each as its text. Of a member that comes twice it is not known which one counts, so serde refuses it.
#[derive(Deserialize)]
#[serde(bound(deserialize = "P: ReadParams<'de>"))]
struct Members<'a, P> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    /// `null` is there, and is none.
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "P::read")]
    params: Option<P>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Reads a member that is there, so that `null` is a value and not an absent one.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// How the parameters of a message are read.
trait ReadParams<'de>: Sized {
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error>;
}

/// As a text, whatever they are.
impl<'de> ReadParams<'de> for &'de RawValue {
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Option::deserialize(deserializer)
    }
}

/// As an object with members of the right kind.
impl<'de> ReadParams<'de> for Params<'de> {
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        object(deserializer)
    }
}

/// Reads an object, or `null`, which is none. Serde itself would also take an array, for the members in their order.
fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    struct ObjectVisitor<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
        type Value = Option<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_none<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
            deserializer.deserialize_map(self)
        }

        fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
            T::deserialize(MapAccessDeserializer::new(members)).map(Some)
        }
    }

    deserializer.deserialize_option(ObjectVisitor(PhantomData))
}

/// The parameters that any of the methods takes, each as its text.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Params<'a> {
    #[serde(borrow, rename = "_meta", default, deserialize_with = "object")]
    meta: Option<Meta<'a>>,
    #[serde(borrow)]
    pub(crate) name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) cursor: Option<&'a RawValue>,
    /// Of `subscriptions/listen`.
    #[serde(borrow)]
    pub(crate) notifications: Option<&'a RawValue>,
    /// Of `initialize`.
    #[serde(borrow)]
    pub(crate) protocol_version: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) capabilities: Option<&'a RawValue>,
    /// Of `tools/call`, where it is made again with answers.
    #[serde(borrow)]
    pub(crate) input_responses: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) request_state: Option<&'a RawValue>,
    /// Of `notifications/cancelled`.
    #[serde(borrow)]
    pub(crate) request_id: Option<&'a RawValue>,
}

/// What a request says about itself.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    pub(crate) revision: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    pub(crate) capabilities: Option<&'a RawValue>,
    #[serde(borrow, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) traceparent: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) tracestate: Option<&'a RawValue>,
    /// What makes a call the same one however often it is sent.
    #[serde(borrow, rename = "dev.opentool/idempotency-key")]
    pub(crate) idempotency_key: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    /// Reads a message from its text.
    pub(crate) fn read(text: &'a [u8]) -> Result<Self, Unreadable<'a>> {
        // Once for the whole text: serde would check the text of each member.
        let text = std::str::from_utf8(text).map_err(|error| {
            let message = format!("the message is not JSON: it is not UTF-8 from byte {} on", error.valid_up_to() + 1);
            Unreadable { error: ProtocolError::new(ProtocolError::PARSE, message), id: None }
        })?;
        let unreadable = |error: serde_json::Error| Unreadable { error: reason(&error), id: None };
        if !text.trim_ascii_start().starts_with('{') {
            // Serde would take an array for the members in their order.
            serde_json::from_str::<IgnoredAny>(text).map_err(unreadable)?;
            return Err(Unreadable { error: ProtocolError::invalid_request("a message is one JSON object"), id: None });
        }
        // In one pass where the parameters are right, which nearly all are (`scripts/bench mcp`); otherwise the other members are
        // read first, so that the answer names the request and what is wrong with it.
        if let Ok(Members { jsonrpc, id, method, params, result, error }) = serde_json::from_str(text) {
            let beside = Members { jsonrpc, id, method, params: None, result, error };
            return beside.into_message(|_| Ok(params.unwrap_or_default()));
        }
        let members: Members<'a, &'a RawValue> = serde_json::from_str(text).map_err(unreadable)?;
        members.into_message(read_params)
    }

    /// Reads the messages of a batch, and of more than so many only so many; none where the text is no array.
    pub(crate) fn split(text: &'a [u8], limit: usize) -> Option<Vec<&'a RawValue>> {
        if !text.trim_ascii_start().starts_with(b"[") {
            return None;
        }
        let mut reader = serde_json::Deserializer::from_slice(text);
        let messages = reader.deserialize_seq(BatchVisitor { limit }).ok()?;
        reader.end().is_ok().then_some(messages)
    }
}

/// Keeps the first of the messages: a list of all would be many times larger than a text of short ones.
struct BatchVisitor {
    limit: usize,
}

impl<'de> Visitor<'de> for BatchVisitor {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut messages = Vec::new();
        while messages.len() < self.limit {
            match items.next_element()? {
                Some(message) => messages.push(message),
                None => return Ok(messages),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(messages)
    }
}

fn reason(error: &serde_json::Error) -> ProtocolError {
    match error.classify() {
        Category::Data => ProtocolError::invalid_request(format!("the message is no JSON-RPC message: {error}")),
        Category::Syntax | Category::Eof | Category::Io => {
            ProtocolError::new(ProtocolError::PARSE, format!("the message is not JSON: {error}"))
        }
    }
}

impl<'a> Members<'a, &'a RawValue> {
    fn into_message(
        self,
        read_params: impl FnOnce(Option<&'a RawValue>) -> Result<Params<'a>, ProtocolError>,
    ) -> Result<Message<'a>, Unreadable<'a>> {
        let id = self.id.filter(|id| is_id(id));
        let invalid = |message: &str| Unreadable { error: ProtocolError::invalid_request(message), id };
        if self.jsonrpc.map(RawValue::get) != Some(r#""2.0""#) {
            return Err(invalid(r#"`jsonrpc` must be "2.0""#));
        }
        let Some(method) = self.method else {
            return match id {
                Some(id) if self.result.is_some() || self.error.is_some() => {
                    Ok(Message::Response { id, result: self.result })
                }
                _ => Err(invalid("`method` is missing")),
            };
        };
        let Some(method) = string(method) else { return Err(invalid("`method` must be a string")) };
        let params = read_params(self.params).map_err(|error| Unreadable { error, id })?;
        match (self.id, id) {
            (None, _) => Ok(Message::Notification { method, params }),
            (Some(_), Some(id)) => Ok(Message::Request { id, method, params }),
            (Some(_), None) => Err(invalid("`id` must be a string or an integer")),
        }
    }
}

fn read_params(params: Option<&RawValue>) -> Result<Params<'_>, ProtocolError> {
    match params {
        None => Ok(Params::default()),
        Some(params) if params.get().starts_with('{') => serde_json::from_str(params.get())
            .map_err(|error| ProtocolError::invalid_params(format!("`params` cannot be used: {error}"))),
        Some(_) => Err(ProtocolError::invalid_params("`params` must be an object")),
    }
}

impl<'a> Params<'a> {
    /// Returns what the request says about itself.
    pub(crate) fn meta(&self) -> &Meta<'a> {
        const NONE: &Meta<'static> = &Meta {
            revision: None,
            capabilities: None,
            progress_token: None,
            traceparent: None,
            tracestate: None,
            idempotency_key: None,
        };
        self.meta.as_ref().unwrap_or(NONE)
    }
}

impl<'a> Meta<'a> {
    /// Returns the token under which the client wants to hear of progress.
    pub(crate) fn progress_token(&self) -> Option<&'a RawValue> {
        self.progress_token.filter(|token| is_id(token))
    }
}

/// Says whether JSON is a string or an integer, which ids and tokens are.
fn is_id(json: &RawValue) -> bool {
    let text = json.get();
    text.starts_with('"')
        || (text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) && !text.contains(['.', 'e', 'E']))
}

/// Returns the text of a JSON string, borrowed where nothing in it is escaped.
pub(crate) fn string(json: &RawValue) -> Option<Cow<'_, str>> {
    let inner = json.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(json.get()).ok().map(Cow::Owned) } else { Some(inner.into()) }
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
        let length = |text: &str| Message::split(text.as_bytes(), 3).map(|messages| messages.len());
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
