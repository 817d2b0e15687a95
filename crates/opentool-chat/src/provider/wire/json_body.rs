//! The body of a request.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::ChatError;

/// The member that the user's options cannot set: the answer could not be read otherwise.
const STREAM: &str = "stream";

/// The body of a request, written member by member: the provider's, and the user's own, which win.
///
/// It is text from the start, because the tools are text already and need not be parsed to be sent.
pub(crate) struct JsonBody<'a> {
    text: Vec<u8>,
    extra: &'a Map<String, Value>,
}

impl<'a> JsonBody<'a> {
    pub(crate) fn new(extra: &'a Map<String, Value>) -> Self {
        Self { text: Vec::new(), extra }
    }

    /// Writes a member, unless the user has one of that name.
    pub(crate) fn put<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), ChatError> {
        if name != STREAM && self.extra.contains_key(name) { Ok(()) } else { self.write(name, value) }
    }

    /// Writes a member if it has a value.
    pub(crate) fn put_some<T: Serialize>(&mut self, name: &str, value: Option<T>) -> Result<(), ChatError> {
        value.map_or(Ok(()), |value| self.put(name, &value))
    }

    /// Writes the user's members and closes the body.
    pub(crate) fn finish(mut self) -> Result<Bytes, ChatError> {
        for (name, value) in self.extra.iter().filter(|(name, _)| *name != STREAM) {
            self.write(name, value)?;
        }
        self.text.push(b'}');
        Ok(self.text.into())
    }

    fn write<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), ChatError> {
        self.text.push(if self.text.is_empty() { b'{' } else { b',' });
        serde_json::to_writer(&mut self.text, name).map_err(unwritable)?;
        self.text.push(b':');
        serde_json::to_writer(&mut self.text, value).map_err(unwritable)
    }
}

fn unwritable(error: serde_json::Error) -> ChatError {
    ChatError::setup(format!("the request cannot be written: {error}"))
}
