//! The JSON-RPC request of a call, read without copying its parameters.

use std::borrow::Cow;

use opentool_spec::json::{JsonError, JsonString, Lexer};

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
    let members = Members::read(text)
        .map_err(|error| rejected(RequestError::NotJson(format!("the body is not JSON: {}", error.describe(text)))))?;
    match members {
        Some(members) => members.check(),
        // A batch or a scalar is a message that asks for nothing.
        None => Err(rejected(RequestError::Invalid(
            "the body must be one JSON object; batches are not supported".to_owned(),
        ))),
    }
}

/// The members of a request, each as its text.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a str>,
    method: Option<&'a str>,
    params: Option<&'a str>,
    id: Option<&'a str>,
    repeated: Option<&'static str>,
}

impl<'a> Members<'a> {
    /// Reads the members of an object; none where the text is another value.
    fn read(text: &'a str) -> Result<Option<Self>, JsonError> {
        let mut lexer = Lexer::new(text);
        lexer.skip_whitespace();
        if !lexer.eat(b'{') {
            lexer.skip_unlimited_value()?;
            return lexer.expect_end().map(|()| None);
        }
        let mut members = Self::default();
        lexer.skip_whitespace();
        let mut ended = lexer.eat(b'}');
        while !ended {
            let name = lexer.name()?.decode();
            let start = lexer.position();
            lexer.skip_unlimited_value()?;
            members.add(&name, lexer.since(start));
            ended = lexer.closes(true)?;
        }
        lexer.expect_end().map(|()| Some(members))
    }

    fn add(&mut self, name: &str, value: &'a str) {
        let (member, name) = match name {
            "jsonrpc" => (&mut self.jsonrpc, "jsonrpc"),
            "method" => (&mut self.method, "method"),
            "params" => (&mut self.params, "params"),
            "id" => (&mut self.id, "id"),
            _ => return,
        };
        if member.replace(value).is_some() {
            self.repeated = Some(name);
        }
    }

    fn check(self) -> Result<CallRequest<'a>, RejectedRequest<'a>> {
        let id = RequestId::new(self.id);
        let invalid = |message: &str| RejectedRequest { error: RequestError::Invalid(message.to_owned()), id };
        if let Some(member) = self.repeated {
            let error = RequestError::Invalid(format!("`{member}` is given twice"));
            return Err(RejectedRequest { error, id: RequestId::NULL });
        }
        if let Some(version) = self.jsonrpc
            // One SDK writes the longer form, another nothing at all.
            && !matches!(version, r#""2.0""# | r#""2.0.0""#)
        {
            return Err(invalid(r#"`jsonrpc` must be "2.0""#));
        }
        if id.is_null() {
            return Err(invalid("`id` must be a string or a number"));
        }
        let Some(method) = self.method else { return Err(invalid("`method` is missing")) };
        let Some(method) = string_content(method) else { return Err(invalid("`method` must be a string")) };
        let params = match self.params {
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
fn string_content(json: &str) -> Option<Cow<'_, str>> {
    if json.starts_with('"') { Lexer::new(json).string().ok().map(JsonString::decode) } else { None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]

    use super::*;

    #[test]
    fn parameters_are_borrowed_from_the_body() {
        let body = br#" {"id":"a\"b","x":[1,{}],"params":{"n":12345678901234567890123,"n":1.0},"method":"m"} "#;
        let request = read(body).unwrap_or_else(|_| unreachable!());
        assert!(matches!(request.method, Cow::Borrowed("m")));
        assert_eq!(request.params, r#"{"n":12345678901234567890123,"n":1.0}"#);
        assert_eq!((request.id.as_json(), &*request.id.to_text()), (r#""a\"b""#, "a\"b"));
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

    #[test]
    fn what_is_no_json_differs_from_what_is_no_request() {
        let error = |body: &str| match read(body.as_bytes()) {
            Ok(_) => panic!("{body}"),
            Err(rejected) => rejected.error,
        };
        for body in
            ["", "{", "{}}", "[1,]", r#"{"id":1,}"#, r#"{"id" 1}"#, r#"{id:1}"#, r#"{"id":01}"#, "nul", "\"\u{1}\""]
        {
            assert!(matches!(error(body), RequestError::NotJson(_)), "{body}");
        }
        for body in
            ["{}", "[]", "1e400", r#"[{"id":1}]"#, r#"{"id":1,"id":1}"#, r#"{"id":1}"#, r#"{"id":1,"method":2}"#]
        {
            assert!(matches!(error(body), RequestError::Invalid(_)), "{body}");
        }
        assert!(matches!(error(r#"{"id":1,"method":"m","params":[]}"#), RequestError::InvalidParams(_)));
        let message = error("{\"id\":1,\n  nonsense}").into_message();
        assert_eq!(message, "the body is not JSON: line 2, column 3: expected a name in double quotes, found 'n'");
    }

    #[test]
    fn names_and_methods_may_be_escaped() {
        let request = read(br#"{"\u0069d":1,"method":"a\u0062","params":null}"#).unwrap_or_else(|_| unreachable!());
        assert_eq!((&*request.method, request.params, request.id.as_json()), ("ab", "{}", "1"));
    }
}
