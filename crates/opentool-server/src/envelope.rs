//! The JSON-RPC envelope of a request, read without copying what it carries.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::answer::Fault;

/// A request that may run.
pub(crate) struct Envelope<'a> {
    pub(crate) method: Cow<'a, str>,
    /// The text of the arguments: an object.
    pub(crate) params: &'a str,
    pub(crate) id: Id<'a>,
}

/// The identity of a request, as the JSON text in which it came; `null` where there is none to echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id<'a>(&'a str);

impl<'a> Id<'a> {
    pub(crate) const NULL: Id<'static> = Id("null");

    /// Takes the text that [`as_json`](Self::as_json) returned.
    pub(crate) fn from_json(text: &'a str) -> Self {
        Self(text)
    }

    /// Returns the JSON text.
    pub(crate) fn as_json(self) -> &'a str {
        self.0
    }

    /// Returns the identity as a tool sees it: without the quotes of a string.
    pub(crate) fn to_text(self) -> Cow<'a, str> {
        match self.0.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(plain) if !plain.contains('\\') => Cow::Borrowed(plain),
            Some(_) => serde_json::from_str(self.0).map_or(Cow::Borrowed(self.0), Cow::Owned),
            None => Cow::Borrowed(self.0),
        }
    }
}

/// A request that may not run: the answer, and the identity it goes to.
#[derive(Debug)]
pub(crate) struct Refused<'a> {
    pub(crate) fault: Fault,
    pub(crate) id: Id<'a>,
}

/// Reads the body of a request.
pub(crate) fn read(body: &[u8]) -> Result<Envelope<'_>, Refused<'_>> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let refused = |fault| Refused { fault, id: Id::NULL };
    let text = std::str::from_utf8(body).map_err(|error| {
        refused(Fault::unreadable(format!("the body is not UTF-8: byte {} breaks it", error.valid_up_to())))
    })?;
    if !text.trim_ascii_start().starts_with('{') {
        // A batch or a scalar is a message that asks for nothing; anything else is no message at all.
        return Err(refused(match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => Fault::invalid_request("the body must be one JSON object; batches are not supported"),
            Err(error) => unreadable(&error),
        }));
    }
    let members: Members<'_> = serde_json::from_str(text).map_err(|error| refused(unreadable(&error)))?;
    members.check()
}

fn unreadable(error: &serde_json::Error) -> Fault {
    Fault::unreadable(format!("the body is not JSON: {error}"))
}

/// The members of a request, each as its text.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    repeated: Option<&'static str>,
}

impl<'a> Members<'a> {
    fn check(self) -> Result<Envelope<'a>, Refused<'a>> {
        let id = match self.id.map(RawValue::get) {
            Some(text) if text.starts_with(|first: char| matches!(first, '"' | '-' | '0'..='9')) => Id(text),
            _ => Id::NULL,
        };
        let invalid = |message: String| Refused { fault: Fault::invalid_request(message), id };
        if let Some(member) = self.repeated {
            return Err(Refused { fault: Fault::invalid_request(format!("`{member}` is given twice")), id: Id::NULL });
        }
        if let Some(version) = self.jsonrpc
            // One SDK writes the longer form, another nothing at all.
            && !matches!(version.get(), r#""2.0""# | r#""2.0.0""#)
        {
            return Err(invalid(r#"`jsonrpc` must be "2.0""#.to_owned()));
        }
        if id == Id::NULL {
            return Err(invalid("`id` must be a string or a number".to_owned()));
        }
        let method = match self.method {
            None => return Err(invalid("`method` is missing".to_owned())),
            Some(method) => text_of(method).ok_or_else(|| invalid("`method` must be a string".to_owned()))?,
        };
        let params = match self.params.map(RawValue::get) {
            None | Some("null") => "{}",
            Some(text) if text.starts_with('{') => text,
            Some(_) => {
                return Err(Refused { fault: Fault::invalid_params("`params` must be an object"), id });
            }
        };
        Ok(Envelope { method, params, id })
    }
}

/// The text of a JSON string, borrowed where nothing in it is escaped.
fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(raw.get()).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC request")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Members::default();
        while let Some(member) = map.next_key::<Member>()? {
            let (slot, name) = match member {
                Member::Jsonrpc => (&mut members.jsonrpc, "jsonrpc"),
                Member::Method => (&mut members.method, "method"),
                Member::Params => (&mut members.params, "params"),
                Member::Id => (&mut members.id, "id"),
                Member::Other => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if slot.replace(map.next_value()?).is_some() {
                members.repeated = Some(name);
            }
        }
        Ok(members)
    }
}

enum Member {
    Jsonrpc,
    Method,
    Params,
    Id,
    Other,
}

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MemberVisitor;
        impl Visitor<'_> for MemberVisitor {
            type Value = Member;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a member")
            }
            fn visit_str<E>(self, name: &str) -> Result<Member, E> {
                Ok(match name {
                    "jsonrpc" => Member::Jsonrpc,
                    "method" => Member::Method,
                    "params" => Member::Params,
                    "id" => Member::Id,
                    _ => Member::Other,
                })
            }
        }
        deserializer.deserialize_identifier(MemberVisitor)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_a_request_carries_is_borrowed_from_its_text() {
        let body = br#" {"id":"a\"b","x":[1,{}],"params":{"n":12345678901234567890123,"n":1.0},"method":"m"} "#;
        let envelope = read(body).unwrap_or_else(|_| unreachable!());
        assert!(matches!(envelope.method, Cow::Borrowed("m")));
        assert_eq!(envelope.params, r#"{"n":12345678901234567890123,"n":1.0}"#);
        assert_eq!((envelope.id.as_json(), &*envelope.id.to_text()), (r#""a\"b""#, "a\"b"));
    }

    #[test]
    fn deep_nesting_costs_no_stack() {
        let deep = |open: &str, close: &str| {
            format!(r#"{{"method":"m","id":1,"params":{{"a":{}1{}}}}}"#, open.repeat(200_000), close.repeat(200_000))
        };
        assert!(read(deep("[", "]").as_bytes()).is_ok());
        assert!(read(deep("[", "").as_bytes()).is_err());
        assert!(read("[".repeat(200_000).as_bytes()).is_err());
    }
}
