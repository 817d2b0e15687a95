//! The messages of a stream: server-sent events, or one JSON text a line.
//!
//! The parser is our own because `eventsource-stream` follows the standard to the letter: it drops a last event without its
//! empty line and an event without data, has no limit on what it buffers, and reads no lines of JSON. Real servers send the
//! first two and the last; a hostile one makes the limit necessary.

use std::mem::take;

/// How a stream is cut into messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON text a line.
    Lines,
}

/// One message.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// The name of an event; empty if there is none.
    pub name: String,
    /// The text; empty if an event has only a name.
    pub data: String,
    /// The id of an event, after which its stream can be taken up again.
    pub id: Option<String>,
    /// How many milliseconds to wait before that.
    pub retry: Option<u64>,
}

impl Frame {
    /// Returns how many bytes the message has.
    pub fn size(&self) -> usize {
        self.name.len() + self.data.len() + self.id.as_ref().map_or(0, String::len)
    }
}

/// Makes messages from the chunks of a body, however the chunks are cut.
///
/// Lines end with LF, CRLF or CR. In a stream of events the space after a colon may be missing, several `data` lines are one
/// text, and a line that is an object counts as data, because some servers forget the field when they report an error.
#[derive(Debug)]
pub struct FrameParser {
    framing: Framing,
    /// The bytes of an unfinished line.
    line: Vec<u8>,
    /// Whether the last byte was a CR: a LF that follows does not end another line.
    after_cr: bool,
    /// Whether a line has been read; a byte order mark may stand before the first.
    begun: bool,
    name: String,
    data: Option<String>,
    id: Option<String>,
    retry: Option<u64>,
}

impl FrameParser {
    /// Makes a parser for one body.
    pub fn new(framing: Framing) -> Self {
        let (line, name) = (Vec::new(), String::new());
        Self { framing, line, after_cr: false, begun: false, name, data: None, id: None, retry: None }
    }

    /// Reads the next chunk and appends the messages that it completes.
    pub fn push(&mut self, mut chunk: &[u8], frames: &mut impl Extend<Frame>) {
        while let Some(&first) = chunk.first() {
            if take(&mut self.after_cr) && first == b'\n' {
                chunk = &chunk[1..];
                continue;
            }
            let Some(end) = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(chunk);
                return;
            };
            self.after_cr = chunk[end] == b'\r';
            if self.line.is_empty() {
                frames.extend(self.end_of_line(&chunk[..end]));
            } else {
                self.line.extend_from_slice(&chunk[..end]);
                let line = take(&mut self.line);
                frames.extend(self.end_of_line(&line));
            }
            chunk = &chunk[end + 1..];
        }
    }

    /// Ends the body, which completes a message that lacks only its last line ends.
    pub fn finish(mut self) -> Option<Frame> {
        let line = take(&mut self.line);
        let last = if line.is_empty() { None } else { self.end_of_line(&line) };
        last.or_else(|| self.dispatch())
    }

    fn end_of_line(&mut self, line: &[u8]) -> Option<Frame> {
        // Only whole lines are decoded, so no character is cut in two.
        let line = String::from_utf8_lossy(line);
        let line = if self.begun { &*line } else { line.trim_start_matches('\u{feff}') };
        self.begun = true;
        if self.framing == Framing::Lines {
            let line = line.trim();
            let (name, data) = (String::new(), line.to_owned());
            return (!line.is_empty()).then_some(Frame { name, data, id: None, retry: None });
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = match line {
            object if object.starts_with('{') => ("data", object),
            line => line.split_once(':').unwrap_or((line, "")),
        };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.trim().to_owned(),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" => self.retry = value.parse().ok(),
            // A keep-alive comment.
            _ => {}
        }
        None
    }

    /// Says whether a message has begun, as far as can be seen: a comment is none.
    pub(crate) fn has_content(&self) -> bool {
        let line = self.line.trim_ascii_start();
        self.data.is_some() || !self.name.is_empty() || !(line.is_empty() || line.starts_with(b":"))
    }

    /// Returns how many bytes of an incomplete message are buffered.
    pub fn buffered(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.line.len() + self.name.len() + length(&self.data) + length(&self.id)
    }

    fn dispatch(&mut self) -> Option<Frame> {
        let (name, data) = (take(&mut self.name), self.data.take());
        let (id, retry) = (self.id.take(), self.retry.take());
        (!name.is_empty() || data.is_some()).then(|| Frame { name, data: data.unwrap_or_default(), id, retry })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(framing: Framing, body: &str, size: usize) -> Vec<Frame> {
        let mut parser = FrameParser::new(framing);
        let mut found = Vec::new();
        for chunk in body.as_bytes().chunks(size) {
            parser.push(chunk, &mut found);
        }
        found.extend(parser.finish());
        found
    }

    fn frame(name: &str, data: &str) -> Frame {
        Frame { name: name.to_owned(), data: data.to_owned(), id: None, retry: None }
    }

    fn with_id(id: &str, frame: Frame) -> Frame {
        Frame { id: Some(id.to_owned()), ..frame }
    }

    #[test]
    fn events_do_not_depend_on_chunks_and_line_ends() {
        let expected = [frame("message_start", "{\"a\":\"é\"}"), with_id("7", frame("", "x\ny")), frame("", "[DONE]")];
        let plain =
            ": hello\n\nevent:message_start\ndata:{\"a\":\"é\"}\n\nid:7\ndata:x\ndata:y\n\nretry\n\ndata:[DONE]\n\n";
        let spaced = plain.replace("data:", "data: ").replace("event:", "event: ");
        let cut = plain.trim_end();
        for body in [plain, &spaced, cut, &format!("\u{feff}{plain}")] {
            for body in [body.to_owned(), body.replace('\n', "\r\n"), body.replace('\n', "\r")] {
                for size in 1..=body.len() {
                    assert_eq!(frames(Framing::Events, &body, size), expected, "{body:?} in pieces of {size}");
                }
            }
        }
    }

    #[test]
    fn lines_do_not_depend_on_chunks_and_line_ends() {
        let expected = [frame("", "{\"a\":\"é\"}"), frame("", "{}")];
        for body in ["{\"a\":\"é\"}\n{}\n", "\u{feff}{\"a\":\"é\"}\n\n {}", "{\"a\":\"é\"}\r\n{}\r\n"] {
            for size in 1..=body.len() {
                assert_eq!(frames(Framing::Lines, body, size), expected, "{body:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn a_name_or_an_empty_text_is_a_message_but_a_comment_is_not() {
        assert_eq!(frames(Framing::Events, ": hello\n\nid: 7\nretry: 10\n\n\n\n", 3), []);
        let expected = [with_id("7", frame("", "")), frame("done", "")];
        assert_eq!(frames(Framing::Events, "id: 7\ndata\n\nevent: done\n\n", 3), expected);
        let retried = Frame { retry: Some(500), ..with_id("a b", frame("", "x")) };
        assert_eq!(frames(Framing::Events, "retry: 500\nid: a b\ndata: x\n\n", 3), [retried]);
    }

    #[test]
    fn the_end_of_the_body_completes_the_last_event() {
        for body in ["event:done\ndata:1", "event:done\ndata:1\n"] {
            assert_eq!(frames(Framing::Events, body, 4), [frame("done", "1")]);
        }
    }

    #[test]
    fn the_buffer_grows_until_the_message_is_complete() {
        let mut parser = FrameParser::new(Framing::Events);
        let mut found = Vec::new();
        parser.push(b"event: a\ndata: bc\ndata", &mut found);
        assert_eq!((parser.buffered(), found.len()), (1 + 2 + 4, 0));
        parser.push(b"\n\n", &mut found);
        assert_eq!((parser.buffered(), found), (0, vec![frame("a", "bc\n")]));
    }

    #[test]
    fn an_object_without_its_field_is_data() {
        assert_eq!(frames(Framing::Events, "{\"error\":\"busy\"}\n", 5), [frame("", "{\"error\":\"busy\"}")]);
    }
}
