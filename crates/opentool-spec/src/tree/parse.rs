//! From a text to a tree, without recursion, going on after faults that people make by hand.

use std::collections::BTreeMap;

use foldhash::{HashSet, HashSetExt as _};

use super::{
    edit::Edit,
    node::{Kind, Node, NodeId, Tree, key_text},
    quote::quote,
    repair::{bare_key, literal_of_another_language, single_quoted, with_controls},
};
use crate::json::{JsonError, JsonErrorKind, JsonString, Lexer, MAX_DEPTH, NumberLiteral, quoted};

/// The result of parsing: a tree where one could be made, and what was wrong with the text.
#[derive(Debug)]
pub(crate) struct Parsed<'a> {
    pub(crate) tree: Option<Tree<'a>>,
    pub(crate) faults: Vec<SyntaxFault>,
    /// How many more there are of each kind.
    pub(crate) omitted: BTreeMap<FaultKind, usize>,
}

/// The most faults that are described, and one more for so many bytes of the text: in a hostile one every byte is one.
const MOST_FAULTS: usize = 5_000;
const BYTES_PER_FAULT: usize = 64;

/// A fault of the text itself, at a byte range.
#[derive(Debug)]
pub(crate) struct SyntaxFault {
    pub(crate) kind: FaultKind,
    pub(crate) span: (usize, usize),
    pub(crate) message: String,
    /// The innermost value that is known to hold the fault.
    pub(crate) within: Option<NodeId>,
    pub(crate) help: Option<String>,
    pub(crate) edit: Option<Edit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FaultKind {
    NotJson,
    TooDeep,
    DuplicateKey,
    NumberTooLarge,
    NumberRounded,
    ByteOrderMark,
}

/// Parses a JSON text.
pub(crate) fn parse(text: &str) -> Parsed<'_> {
    let mut parser = Parser {
        text,
        bytes: text.as_bytes(),
        at: 0,
        nodes: Vec::with_capacity(text.len() / 16 + 1),
        open: Vec::new(),
        faults: Vec::new(),
        omitted: BTreeMap::new(),
    };
    let complete = parser.document();
    let Parser { nodes, faults, omitted, .. } = parser;
    Parsed { tree: complete.is_some().then_some(Tree { text, nodes }), faults, omitted }
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
    /// The containers that are open, outermost first, each with the number of its children so far.
    open: Vec<(u32, u32)>,
    faults: Vec<SyntaxFault>,
    omitted: BTreeMap<FaultKind, usize>,
}

/// A key and its place, or the index of an array's element.
#[derive(Clone, Copy, Default)]
struct Label {
    start: u32,
    end: u32,
    escaped: bool,
}

impl<'a> Parser<'a> {
    /// Reads the whole text; none where a fault made the rest unreadable.
    fn document(&mut self) -> Option<()> {
        if u32::try_from(self.text.len()).is_err() {
            return self.fatal(0, "a document of 4 GiB or more cannot be read");
        }
        if self.text.starts_with('\u{feff}') {
            self.fault(SyntaxFault {
                kind: FaultKind::ByteOrderMark,
                span: (0, 3),
                message: "the text starts with a byte order mark".to_owned(),
                within: None,
                help: Some("remove it".to_owned()),
                edit: Some(Edit::remove(0, 3)),
            });
            self.at = 3;
        }
        self.skip_space()?;
        if self.peek().is_none() {
            return self.fatal(self.at, "the text is empty: a document is a JSON object");
        }
        let mut label = Label::default();
        loop {
            self.value(label)?;
            if let Some(next) = self.after_value()? {
                label = next;
            } else {
                return self.end_of_text();
            }
        }
    }

    /// Records a fault; the last one, which ends the reading, always.
    fn fault(&mut self, fault: SyntaxFault) {
        let is_last = fault.edit.is_none() && matches!(fault.kind, FaultKind::NotJson | FaultKind::TooDeep);
        if self.faults.len() < MOST_FAULTS + self.text.len() / BYTES_PER_FAULT || is_last {
            self.faults.push(fault);
        } else {
            *self.omitted.entry(fault.kind).or_default() += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn within(&self) -> Option<NodeId> {
        self.open.last().map(|(node, _)| NodeId(*node))
    }

    /// Reads a scalar, an empty container, or the opening of containers down to the first scalar.
    fn value(&mut self, mut label: Label) -> Option<()> {
        loop {
            let start = self.at;
            match self.peek() {
                Some(b'{') => {
                    self.open_container(Kind::Object, label)?;
                    self.skip_space()?;
                    if self.peek() == Some(b'}') {
                        return Some(());
                    }
                    label = self.key()?;
                }
                Some(b'[') => {
                    self.open_container(Kind::Array, label)?;
                    self.skip_space()?;
                    if self.peek() == Some(b']') {
                        return Some(());
                    }
                    label = Label::default();
                }
                Some(b'"' | b'\'') => {
                    let (end, _) = self.string()?;
                    return self.leaf(Kind::String, end, label);
                }
                Some(b'-' | b'0'..=b'9') => {
                    let (end, literal) = self.token(Lexer::number_literal)?;
                    self.check_magnitude(&literal, (start, end));
                    return self.leaf(Kind::Number, end, label);
                }
                Some(b't') if self.literal("true") => return self.leaf(Kind::Bool, start + 4, label),
                Some(b'f') if self.literal("false") => return self.leaf(Kind::Bool, start + 5, label),
                Some(b'n') if self.literal("null") => return self.leaf(Kind::Null, start + 4, label),
                Some(_) => {
                    let (kind, end) = self.foreign_literal()?;
                    return self.leaf(kind, end, label);
                }
                None => return self.unclosed(),
            }
        }
    }

    /// A string in double quotes, or with a fault in single ones: where it ends, and whether it has escapes.
    fn string(&mut self) -> Option<(usize, bool)> {
        let start = self.at;
        if self.peek() == Some(b'\'') {
            let Some((end, meant)) = single_quoted(self.text, start) else {
                return self.fatal(start, "JSON strings stand in double quotes");
            };
            let edit = Edit::replace(start, end, quoted(&meant));
            self.recovered((start, end), "JSON strings stand in double quotes", "write it in double quotes", edit);
            return Some((end, self.text[start..end].contains('\\')));
        }
        let mut lexer = Lexer::starting_at(self.text, start);
        let error = match lexer.string() {
            Ok(JsonString { escaped, .. }) => return Some((lexer.position(), escaped)),
            Err(error) => error,
        };
        let Some((end, repaired)) =
            with_controls(self.text, start).filter(|_| error.kind == JsonErrorKind::ControlCharacter)
        else {
            return self.token_fault(error);
        };
        let tab = self.bytes[error.at] == b'\t';
        let what = if tab {
            "a tab in a string is written as `\\t`"
        } else {
            "a control character in a string is written as an escape"
        };
        self.recovered((error.at, error.at + 1), what, "write the escape", Edit::replace(start, end, repaired));
        Some((end, self.text[start..end].contains('\\')))
    }

    /// A literal as another language writes it, such as `True`.
    fn foreign_literal(&mut self) -> Option<(Kind, usize)> {
        let start = self.at;
        let Some((word, kind, meant)) = literal_of_another_language(&self.text[start..]) else {
            return self.unexpected("a value");
        };
        let end = start + word.len();
        let message = format!("JSON has no `{word}`");
        let help = format!("write `{meant}`");
        self.recovered((start, end), &message, &help, Edit::replace(start, end, meant));
        Some((kind, end))
    }

    fn literal(&self, word: &str) -> bool {
        self.text[self.at..].starts_with(word)
            && !self.bytes.get(self.at + word.len()).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    }

    fn open_container(&mut self, kind: Kind, label: Label) -> Option<()> {
        if self.open.len() == MAX_DEPTH {
            self.fault(SyntaxFault {
                kind: FaultKind::TooDeep,
                span: (self.at, self.at + 1),
                message: format!("values nest more than {MAX_DEPTH} levels deep"),
                within: self.within(),
                help: Some("give the inner part a name under `schemas` and refer to it by `$ref`".to_owned()),
                edit: None,
            });
            return None;
        }
        let node = self.push(kind, self.at + 1, label);
        self.open.push((node, 0));
        self.at += 1;
        Some(())
    }

    fn leaf(&mut self, kind: Kind, end: usize, label: Label) -> Option<()> {
        self.push(kind, end, label);
        self.at = end;
        Some(())
    }

    fn push(&mut self, kind: Kind, end: usize, label: Label) -> u32 {
        let index = self.nodes.len() as u32;
        let mut node = Node {
            kind,
            key_escaped: label.escaped,
            start: self.at as u32,
            end: end as u32,
            next: index + 1,
            parent: 0,
            last: index,
            key_start: label.start,
            key_end: label.end,
        };
        if let Some((parent, count)) = self.open.last_mut() {
            node.parent = *parent;
            if label.end == 0 {
                node.key_start = *count;
                node.key_end = *count;
            }
            *count += 1;
            self.nodes[*parent as usize].last = index;
        }
        self.nodes.push(node);
        index
    }

    /// Reads `"key" :` of a member.
    fn key(&mut self) -> Option<Label> {
        let start = self.at;
        let (end, escaped) = match self.peek() {
            Some(b'"' | b'\'') => self.string()?,
            Some(_) => {
                let Some(word) = bare_key(&self.text[start..]) else {
                    return self.unexpected("a key in double quotes");
                };
                let end = start + word.len();
                let edit = Edit::replace(start, end, quoted(word));
                self.recovered((start, end), "a key must stand in double quotes", "write it in double quotes", edit);
                (end, false)
            }
            None => return self.unclosed(),
        };
        self.at = end;
        self.skip_space()?;
        if self.peek() != Some(b':') {
            return self.unexpected("`:` after the key");
        }
        self.at += 1;
        self.skip_space()?;
        Some(Label { start: start as u32, end: end as u32, escaped })
    }

    /// Closes what ends here and finds the next value; `Some(None)` at the end of the outermost one.
    fn after_value(&mut self) -> Option<Option<Label>> {
        loop {
            let value_end = self.at;
            self.skip_space()?;
            let Some((container, count)) = self.open.last().copied() else { return Some(None) };
            let kind = self.nodes[container as usize].kind;
            let closer = if kind == Kind::Object { b'}' } else { b']' };
            match self.peek() {
                Some(byte) if byte == closer => self.close(container),
                Some(b',') if count > 0 => {
                    let comma = self.at;
                    self.at += 1;
                    self.skip_space()?;
                    if self.peek() == Some(closer) {
                        self.recovered(
                            (comma, comma + 1),
                            "JSON allows no comma before a closing bracket",
                            "remove this comma",
                            Edit::remove(comma, comma + 1),
                        );
                        self.close(container);
                    } else {
                        return self.next_label(kind).map(Some);
                    }
                }
                Some(b'"' | b'\'') if count > 0 => return self.missing_comma(value_end, kind).map(Some),
                Some(b'{' | b'[' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') if count > 0 && kind == Kind::Array => {
                    return self.missing_comma(value_end, kind).map(Some);
                }
                Some(_) if kind == Kind::Object => return self.unexpected("`,` or `}`"),
                Some(_) => return self.unexpected("`,` or `]`"),
                None => return self.unclosed(),
            }
        }
    }

    fn next_label(&mut self, kind: Kind) -> Option<Label> {
        if kind == Kind::Object { self.key() } else { Some(Label::default()) }
    }

    fn missing_comma(&mut self, value_end: usize, kind: Kind) -> Option<Label> {
        self.recovered(
            (self.at, self.at + 1),
            "a comma is missing before this",
            "add `,` after the value before it",
            Edit::insert(value_end, ","),
        );
        self.next_label(kind)
    }

    fn close(&mut self, container: u32) {
        self.at += 1;
        let next = self.nodes.len() as u32;
        let node = &mut self.nodes[container as usize];
        node.end = self.at as u32;
        node.next = next;
        let object = node.kind == Kind::Object;
        let members = self.open.pop().map_or(0, |(_, count)| count);
        if object && members > 1 {
            self.find_duplicate_keys(container, members);
        }
    }

    /// Reports every key that a later member of the same object repeats.
    fn find_duplicate_keys(&mut self, container: u32, members: u32) {
        const FEW: u32 = 8;
        let key = |node: &Node| key_text(self.text, node.key_start as usize, node.key_end as usize);
        let mut member = container + 1;
        let mut ids = Vec::with_capacity(members as usize);
        let mut escaped = false;
        for _ in 0..members {
            let node = &self.nodes[member as usize];
            escaped |= node.key_escaped;
            ids.push(member);
            member = node.next;
        }
        let mut repeated = Vec::new();
        if members <= FEW && !escaped {
            for (index, id) in ids.iter().enumerate() {
                let name = key(&self.nodes[*id as usize]);
                if ids[index + 1..].iter().any(|later| key(&self.nodes[*later as usize]) == name) {
                    repeated.push(*id);
                }
            }
        } else {
            let mut later = HashSet::with_capacity(ids.len());
            for id in ids.iter().rev() {
                let node = &self.nodes[*id as usize];
                let raw = key(node);
                let name = JsonString { raw, escaped: node.key_escaped }.decode();
                if !later.insert(name) {
                    repeated.push(*id);
                }
            }
        }
        for id in repeated {
            let node = self.nodes[id as usize];
            let raw = &self.text[node.key_start as usize..node.key_end as usize];
            self.fault(SyntaxFault {
                kind: FaultKind::DuplicateKey,
                span: (node.key_start as usize, node.key_end as usize),
                message: format!("the key {} stands again below: readers keep the last one", quote(raw)),
                within: Some(NodeId(id)),
                help: Some("keep one of the two".to_owned()),
                edit: None,
            });
        }
    }

    fn end_of_text(&mut self) -> Option<()> {
        match self.peek() {
            None => Some(()),
            Some(_) => self.fatal(self.at, "nothing may follow the document"),
        }
    }

    /// Passes over white space and, with a fault, over comments.
    fn skip_space(&mut self) -> Option<()> {
        loop {
            while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
                self.at += 1;
            }
            if self.peek() != Some(b'/') {
                return Some(());
            }
            let start = self.at;
            let rest = &self.bytes[start..];
            let length = match rest.get(1) {
                Some(b'/') => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
                Some(b'*') => match memchr::memmem::find(&rest[2..], b"*/") {
                    Some(offset) => offset + 4,
                    None => return self.fatal(start, "this comment is not closed, and JSON has none"),
                },
                _ => return self.unexpected("a value, a bracket or a comma"),
            };
            self.at = start + length;
            self.recovered(
                (start, self.at),
                "JSON has no comments",
                "remove it, or say it in a `description`",
                Edit::remove(start, self.at),
            );
        }
    }

    /// Reports a number that readers cannot hold as it is.
    fn check_magnitude(&mut self, literal: &NumberLiteral<'_>, span: (usize, usize)) {
        if literal.fits_integer() {
            return;
        }
        // Without an exponent only a very long number is beyond the doubles.
        let may_overflow = literal.text.len() > 300 || literal.text.contains(['e', 'E']);
        let (kind, message, help) = if may_overflow && literal.quantity().is_none() {
            (
                FaultKind::NumberTooLarge,
                "is beyond what JSON readers can hold",
                "write it as a string, or a number below 1.8e308",
            )
        } else if literal.is_integer {
            (FaultKind::NumberRounded, "is beyond 64 bits: readers round it", "write it as a string")
        } else {
            return;
        };
        self.fault(SyntaxFault {
            kind,
            span,
            message: format!("{} {message}", quote(literal.text)),
            within: self.within(),
            help: Some(help.to_owned()),
            edit: None,
        });
    }

    fn recovered(&mut self, span: (usize, usize), message: &str, help: &str, edit: Edit) {
        self.fault(SyntaxFault {
            kind: FaultKind::NotJson,
            span,
            message: message.to_owned(),
            within: self.within(),
            help: Some(help.to_owned()),
            edit: Some(edit),
        });
    }

    /// Reads the token that begins here, without stepping over it; gives back where it ends.
    fn token<T>(&mut self, read: impl FnOnce(&mut Lexer<'a>) -> Result<T, JsonError>) -> Option<(usize, T)> {
        let mut lexer = Lexer::starting_at(self.text, self.at);
        match read(&mut lexer) {
            Ok(token) => Some((lexer.position(), token)),
            Err(error) => self.token_fault(error),
        }
    }

    /// Words what is wrong with a token for an author, who may have to look for its beginning.
    #[cold]
    fn token_fault<T>(&mut self, error: JsonError) -> Option<T> {
        let ends_line = matches!(self.bytes.get(error.at), Some(b'\n' | b'\r'));
        let (at, message) = match error.kind {
            JsonErrorKind::Digit => (self.at, "a number needs a digit here"),
            JsonErrorKind::LeadingZero => (self.at, "a number must not start with 0"),
            JsonErrorKind::FractionDigit => (self.at, "a number needs a digit after its point"),
            JsonErrorKind::ExponentDigit => (self.at, "a number needs a digit in its exponent"),
            JsonErrorKind::ControlCharacter if !ends_line => {
                (error.at, "a control character must be written as an escape such as `\\t`")
            }
            JsonErrorKind::ControlCharacter | JsonErrorKind::ClosingQuote => {
                (self.at, "this string has no closing quote on its line")
            }
            JsonErrorKind::HexDigits => (error.at, "`\\u` must be followed by four hexadecimal digits"),
            JsonErrorKind::Surrogate => (error.at, "this is half of a surrogate pair"),
            JsonErrorKind::Escape => (error.at, "JSON has no such escape"),
            other => (error.at, other.expected()),
        };
        self.fatal(at, message)
    }

    fn unexpected<T>(&mut self, expected: &str) -> Option<T> {
        let found =
            self.text[self.at..].chars().next().map_or_else(|| "the end".to_owned(), |char| format!("{char:?}"));
        self.fatal(self.at, &format!("expected {expected}, found {found}"))
    }

    fn unclosed<T>(&mut self) -> Option<T> {
        let opened = self.open.last().map_or(self.at, |(node, _)| self.nodes[*node as usize].start as usize);
        self.fatal(opened, "the text ends before this is closed")
    }

    /// Records a fault after which the text cannot be read on.
    fn fatal<T>(&mut self, at: usize, message: &str) -> Option<T> {
        let length = self.text[at..].chars().next().map_or(0, char::len_utf8);
        self.fault(SyntaxFault {
            kind: FaultKind::NotJson,
            span: (at, at + length),
            message: message.to_owned(),
            within: self.within(),
            help: None,
            edit: None,
        });
        None
    }
}
