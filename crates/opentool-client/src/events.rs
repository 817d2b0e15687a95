//! Server-sent events, parsed as they come.

use std::mem::take;

use crate::ClientError;

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The name in lower case; empty where the server gave none.
    pub(crate) name: String,
    pub(crate) data: String,
}

/// Makes events of the chunks of a body, however the chunks are cut.
///
/// Lines end with LF, CRLF or CR; the space after a colon may be missing; several `data` lines are one text.
#[derive(Debug)]
pub(crate) struct EventParser {
    /// The bytes of a line whose end has not come yet.
    line: Vec<u8>,
    /// Whether the last byte was a CR, so that a LF that follows ends no second line.
    after_cr: bool,
    /// Whether a line has been read, before which there may be a BOM.
    begun: bool,
    name: String,
    data: Option<String>,
    limit: usize,
}

impl EventParser {
    /// Makes a parser of events that have no more than `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { line: Vec::new(), after_cr: false, begun: false, name: String::new(), data: None, limit }
    }

    /// Takes the next chunk and appends the events that it completes.
    pub(crate) fn push(&mut self, chunk: &[u8], events: &mut impl Extend<Event>) -> Result<(), ClientError> {
        for &byte in chunk {
            let after_cr = take(&mut self.after_cr);
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => {
                    self.after_cr = byte == b'\r';
                    events.extend(self.end_of_line());
                }
                _ => {
                    let held = self.line.len() + self.name.len() + self.data.as_ref().map_or(0, String::len);
                    if held >= self.limit {
                        return Err(ClientError::TooLarge { limit: self.limit });
                    }
                    self.line.push(byte);
                }
            }
        }
        Ok(())
    }

    /// Takes the end of the body, which completes an event that lacks only its empty line.
    pub(crate) fn finish(mut self) -> Option<Event> {
        let rest = if self.line.is_empty() { None } else { self.end_of_line() };
        rest.or_else(|| self.dispatch())
    }

    fn end_of_line(&mut self) -> Option<Event> {
        let line = take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = if self.begun { &*line } else { line.trim_start_matches('\u{feff}') };
        self.begun = true;
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.trim().to_ascii_lowercase(),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // A comment, an id, a time to reconnect after: none of them concerns a call.
            _ => {}
        }
        None
    }

    /// The event whose lines have come. One that has a name but no data counts, since `done` may come that way.
    fn dispatch(&mut self) -> Option<Event> {
        let (name, data) = (take(&mut self.name), self.data.take());
        (!name.is_empty() || data.is_some()).then(|| Event { name, data: data.unwrap_or_default() })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn parse(body: &str, size: usize) -> Vec<Event> {
        let mut parser = EventParser::new(1000);
        let mut events = Vec::new();
        for chunk in body.as_bytes().chunks(size) {
            parser.push(chunk, &mut events).unwrap();
        }
        events.extend(parser.finish());
        events
    }

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn events_are_the_same_however_the_chunks_are_cut_and_the_lines_end() {
        let expected = [event("start", "{\"start\":\"f\"}"), event("data", "{\"a\":\"é\"}"), event("done", "x\ny")];
        let plain =
            "event:start\ndata:{\"start\":\"f\"}\n\nevent:data\ndata:{\"a\":\"é\"}\n\nevent:done\ndata:x\ndata:y\n\n";
        let spaced = plain.replace("event:", "event: ").replace("data:", "data: ");
        let shouted = plain.replace("start\n", "START\n").replace("event:data", "event:Data");
        for body in [plain, &spaced, &shouted, &format!("\u{feff}{plain}")] {
            for body in [body.to_owned(), body.replace('\n', "\r\n"), body.replace('\n', "\r")] {
                for size in 1..=body.len() {
                    assert_eq!(parse(&body, size), expected, "{body:?} in pieces of {size}");
                }
            }
        }
    }

    #[test]
    fn comments_ids_and_empty_lines_are_no_events() {
        assert_eq!(parse(": hello\n\nid: 7\nretry: 10\n\n\n\n", 3), []);
        assert_eq!(parse("id: 7\ndata\n\n", 3), [event("", "")]);
    }

    #[test]
    fn the_end_of_the_body_completes_the_last_event() {
        for body in ["event:done\ndata:1", "event:done\ndata:1\n"] {
            assert_eq!(parse(body, 4), [event("done", "1")]);
        }
    }

    #[test]
    fn an_event_past_the_limit_is_refused() {
        let mut parser = EventParser::new(10);
        let mut events = Vec::new();
        parser.push(b"data:12345\n\ndata:12345", &mut events).unwrap();
        assert!(matches!(parser.push(b"6", &mut events), Err(ClientError::TooLarge { limit: 10 })));
    }
}
