//! The id of a request: [`RequestId`].

use std::borrow::Cow;

/// The id of a request, as the JSON text in which it came; `null` where there is none to echo.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestId<'a>(&'a str);

impl<'a> RequestId<'a> {
    pub(crate) const NULL: RequestId<'static> = RequestId("null");

    /// Takes the id of a request, a JSON text: a string or a number; anything else counts as none.
    pub(crate) fn new(id: Option<&'a str>) -> Self {
        match id {
            Some(id) if id.starts_with(|first: char| matches!(first, '"' | '-' | '0'..='9')) => Self(id),
            _ => RequestId::NULL,
        }
    }

    pub(crate) fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// Returns the JSON text.
    pub(crate) fn as_json(self) -> &'a str {
        self.0
    }

    /// Returns the id as a tool sees it: without the quotes of a string.
    pub(crate) fn to_text(self) -> Cow<'a, str> {
        let json = self.0;
        match json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(plain) if !plain.contains('\\') => Cow::Borrowed(plain),
            Some(_) => serde_json::from_str(json).map_or(Cow::Borrowed(json), Cow::Owned),
            None => Cow::Borrowed(json),
        }
    }
}
