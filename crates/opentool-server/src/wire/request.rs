//! The JSON-RPC request of a call, read without copying its parameters.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::RequestError;
use super::id::RequestId;

/// A request that may run.
pub(crate) struct CallRequest<'a> {
    pub(crate) method: Cow<'a, str>,
    /// The text of the arguments: an object.
    pub(crate) params: &'a str,
    pub(crate) id: RequestId<'a>,
}

/// A request that may not run, and the id that its answer carries.
#[derive(Debug)]
pub(crate) struct RejectedRequest<'a> {
    pub(crate) error: RequestError,
    pub(crate) id: RequestId<'a>,
}

/// Reads the body of a request.
pub(crate) fn read(body: &[u8]) -> Result<CallRequest<'_>, RejectedRequest<'_>> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let rejected = |error| RejectedRequest { error, id: RequestId::NULL };
    let text = std::str::from_utf8(body).map_err(|error| {
        let position = error.valid_up_to();
        rejected(RequestError::NotJson(format!("the body is not UTF-8: byte {position} breaks it")))
    })?;
    if !text.trim_ascii_start().starts_with('{') {
        // A batch or a scalar is a message that asks for nothing; anything else is no message at all.
        return Err(rejected(match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => RequestError::Invalid("the body must be one JSON object; batches are not supported".to_owned()),
            Err(error) => not_json(&error),
        }));
    }
    let members: Members<'_> = serde_json::from_str(text).map_err(|error| rejected(not_json(&error)))?;
    members.check()
}

fn not_json(error: &serde_json::Error) -> RequestError {
    RequestError::NotJson(format!("the body is not JSON: {error}"))
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
    fn check(self) -> Result<CallRequest<'a>, RejectedRequest<'a>> {
        let id = RequestId::new(self.id);
        let invalid = |message: &str| RejectedRequest { error: RequestError::Invalid(message.to_owned()), id };
        if let Some(member) = self.repeated {
            let error = RequestError::Invalid(format!("`{member}` is given twice"));
            return Err(RejectedRequest { error, id: RequestId::NULL });
        }
        if let Some(version) = self.jsonrpc
            // One SDK writes the longer form, another nothing at all.
            && !matches!(version.get(), r#""2.0""# | r#""2.0.0""#)
        {
            return Err(invalid(r#"`jsonrpc` must be "2.0""#));
        }
        if id.is_null() {
            return Err(invalid("`id` must be a string or a number"));
        }
        let Some(method) = self.method else { return Err(invalid("`method` is missing")) };
        let Some(method) = string_content(method) else { return Err(invalid("`method` must be a string")) };
        let params = match self.params.map(RawValue::get) {
            None | Some("null") => "{}",
            Some(text) if text.starts_with('{') => text,
            Some(_) => {
                let error = RequestError::InvalidParams("`params` must be an object".to_owned());
                return Err(RejectedRequest { error, id });
            }
        };
        Ok(CallRequest { method, params, id })
    }
}

/// The text of a JSON string, borrowed where nothing in it is escaped.
fn string_content(raw: &RawValue) -> Option<Cow<'_, str>> {
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

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Member {
    Jsonrpc,
    Method,
    Params,
    Id,
    #[serde(other)]
    Other,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn parameters_are_borrowed_from_the_body() {
        let body = br#" {"id":"a\"b","x":[1,{}],"params":{"n":12345678901234567890123,"n":1.0},"method":"m"} "#;
        let request = read(body).unwrap_or_else(|_| unreachable!());
        assert!(matches!(request.method, Cow::Borrowed("m")));
        assert_eq!(request.params, r#"{"n":12345678901234567890123,"n":1.0}"#);
        assert_eq!((request.id.as_raw().get(), &*request.id.to_text()), (r#""a\"b""#, "a\"b"));
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
