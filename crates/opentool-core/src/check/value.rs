//! A value of arguments as a place in their text: [`JsonValue`].

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{BuildHasher as _, Hasher as _};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use opentool_spec::json::{JsonString, Lexer, Number, pointer};

use super::indexed::IndexedText;

/// A value in a text that was read, or a name by itself.
#[derive(Debug, Clone, Copy)]
pub(super) enum JsonValue<'a> {
    Placed {
        document: &'a IndexedText<'a>,
        start: usize,
    },
    /// The name of a member, which the validator checks like a string.
    Name(&'a str),
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonKind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

/// A member of an object.
#[derive(Debug, Clone)]
pub(super) struct Member<'a> {
    pub(super) name: Cow<'a, str>,
    /// Where the name's opening quote stands.
    pub(super) start: usize,
    pub(super) value: JsonValue<'a>,
}

impl<'a> JsonValue<'a> {
    /// Counts that the validator reads the value; says whether it may.
    pub(super) fn note_read(self) -> bool {
        match self {
            Self::Placed { document, .. } => document.note_step() && document.note_value(),
            Self::Name(_) => true,
        }
    }

    /// Counts a step of the validator; says whether it may be taken.
    #[inline]
    pub(super) fn note_step(self) -> bool {
        match self {
            Self::Placed { document, .. } => document.note_step(),
            Self::Name(_) => true,
        }
    }

    /// The root of a text.
    pub(super) fn root(document: &'a IndexedText<'a>) -> Self {
        Self::Placed { document, start: document.root() }
    }

    pub(super) fn kind(self) -> JsonKind {
        match self {
            Self::Name(_) => JsonKind::String,
            Self::Placed { document, start } => match document.text().as_bytes().get(start) {
                Some(b'{') => JsonKind::Object,
                Some(b'[') => JsonKind::Array,
                Some(b'"') => JsonKind::String,
                Some(b't' | b'f') => JsonKind::Bool,
                Some(b'-' | b'0'..=b'9') => JsonKind::Number,
                _ => JsonKind::Null,
            },
        }
    }

    pub(super) fn is(self, kind: JsonKind) -> bool {
        self.kind() == kind
    }

    /// The value's own text.
    pub(super) fn text(self) -> &'a str {
        match self {
            Self::Name(name) => name,
            Self::Placed { document, start } => document.text().get(start..document.end_of(start)).unwrap_or_default(),
        }
    }

    /// Where the value ends in the text.
    pub(super) fn end(self) -> usize {
        match self {
            Self::Name(name) => name.len(),
            Self::Placed { document, start } => document.end_of(start),
        }
    }

    fn lexer(self, kind: JsonKind) -> Option<(&'a IndexedText<'a>, Lexer<'a>)> {
        match self {
            Self::Placed { document, start } if self.is(kind) => {
                Some((document, Lexer::starting_at(document.text(), start)))
            }
            _ => None,
        }
    }

    pub(super) fn string(self) -> Option<Cow<'a, str>> {
        if let Self::Name(name) = self {
            return Some(Cow::Borrowed(name));
        }
        let (_, mut lexer) = self.lexer(JsonKind::String)?;
        lexer.string().ok().map(|string| string.decode())
    }

    pub(super) fn number(self) -> Option<Number<'a>> {
        let (_, mut lexer) = self.lexer(JsonKind::Number)?;
        lexer.number().ok()
    }

    pub(super) fn boolean(self) -> Option<bool> {
        self.is(JsonKind::Bool).then(|| self.text() == "true")
    }

    /// The elements of an array; none of anything else.
    pub(super) fn elements(self) -> Elements<'a> {
        let children = self.lexer(JsonKind::Array).and_then(|(document, lexer)| Children::new(document, lexer, b']'));
        Elements { children }
    }

    /// The members of an object; none of anything else.
    pub(super) fn members(self) -> Members<'a> {
        let children = self.lexer(JsonKind::Object).and_then(|(document, lexer)| Children::new(document, lexer, b'}'));
        Members { children }
    }

    /// How many elements or members there are.
    pub(super) fn len(self) -> usize {
        match self.kind() {
            JsonKind::Array => self.elements().count(),
            JsonKind::Object => {
                if let Self::Placed { document, start } = self
                    && start == document.root()
                {
                    return document.root_members();
                }
                let mut members = self.members();
                std::iter::from_fn(|| members.next_name().map(|_| ())).count()
            }
            _ => 0,
        }
    }

    /// The value of a member.
    pub(super) fn get(self, name: &str) -> Option<JsonValue<'a>> {
        let mut members = self.members().children?;
        loop {
            let (found, value) = members.named_value();
            if if found.escaped { found.decode() == name } else { found.raw == name } {
                return Some(JsonValue::Placed { document: members.document, start: value });
            }
            members = members.after(value)?;
        }
    }

    /// The value that a JSON pointer names.
    pub(super) fn find(self, path: &str) -> Option<JsonValue<'a>> {
        let mut found = self;
        for token in pointer::tokens(path) {
            found = match found.kind() {
                JsonKind::Object => found.get(&token)?,
                JsonKind::Array => found.elements().nth(token.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(found)
    }

    /// The JSON pointer and the name of the member whose name stands at `start`.
    pub(super) fn member_at(self, start: usize) -> Option<(String, Cow<'a, str>)> {
        let mut path = String::new();
        let mut around = self;
        loop {
            match around.kind() {
                JsonKind::Object => {
                    let member = around.members().find(|member| (member.start..member.value.end()).contains(&start))?;
                    pointer::push(&mut path, &member.name);
                    if member.start == start {
                        return Some((path, member.name));
                    }
                    around = member.value;
                }
                JsonKind::Array => {
                    let (index, element) = around.elements().enumerate().find(|(_, element)| start < element.end())?;
                    pointer::push(&mut path, &index.to_string());
                    around = element;
                }
                _ => return None,
            }
        }
    }

    /// Whether all elements of an array differ, as JSON Schema compares values.
    pub(super) fn has_unique_elements(self) -> bool {
        let Some((document, _)) = self.lexer(JsonKind::Array) else { return true };
        let hasher = RandomState::default();
        // Places and not values, so that it takes little memory beside the text.
        let mut seen = HashTable::<u32>::new();
        let at = |start: u32| JsonValue::Placed { document, start: start as usize };
        self.elements().all(|element| {
            let JsonValue::Placed { start, .. } = element else { return true };
            let (hash, start) = (element.hash(&hasher), place(start));
            if seen.find(hash, |other| at(*other).equals(element)).is_some() {
                return false;
            }
            seen.insert_unique(hash, start, |other| at(*other).hash(&hasher));
            true
        })
    }

    /// Whether two values are equal: numbers by what they amount to, objects in any order.
    fn equals(self, other: Self) -> bool {
        if self.kind() != other.kind() {
            return false;
        }
        match self.kind() {
            JsonKind::Null => true,
            JsonKind::Bool => self.boolean() == other.boolean(),
            JsonKind::Number => match (self.number(), other.number()) {
                (Some(left), Some(right)) => left.quantity.compare(right.quantity) == Ordering::Equal,
                _ => false,
            },
            JsonKind::String => self.string() == other.string(),
            JsonKind::Array => {
                let (mut left, mut right) = (self.elements(), other.elements());
                loop {
                    match (left.next(), right.next()) {
                        (None, None) => return true,
                        (Some(left), Some(right)) if left.equals(right) => {}
                        _ => return false,
                    }
                }
            }
            JsonKind::Object => {
                let (left, right) = (self.members_by_name(), other.members_by_name());
                left.len() == right.len()
                    && left.into_iter().zip(right).all(|(left, right)| match (self.member(left), other.member(right)) {
                        (Some((left, left_value)), Some((right, right_value))) => {
                            left.decode() == right.decode() && left_value.equals(right_value)
                        }
                        _ => false,
                    })
            }
        }
    }

    /// Where the names of an object's members stand, in the order of the names.
    fn members_by_name(self) -> Vec<u32> {
        let mut members = self.members();
        let mut places: Vec<u32> = std::iter::from_fn(|| members.next_name()).map(|(start, ..)| place(start)).collect();
        let name = |start: &u32| self.member(*start).map(|(name, _)| name.decode());
        places.sort_unstable_by(|left, right| name(left).cmp(&name(right)));
        places
    }

    /// The member whose name stands at a place.
    fn member(self, start: u32) -> Option<(JsonString<'a>, JsonValue<'a>)> {
        let Self::Placed { document, .. } = self else { return None };
        let mut lexer = Lexer::starting_at(document.text(), start as usize);
        let name = lexer.name().ok()?;
        Some((name, JsonValue::Placed { document, start: lexer.position() }))
    }

    /// A hash that equal values share.
    fn hash(self, hasher: &RandomState) -> u64 {
        match self.kind() {
            JsonKind::Null => 0,
            JsonKind::Bool => hasher.hash_one(self.boolean()),
            // Equal numbers have equal doubles, and adding zero takes the sign of zero away.
            JsonKind::Number => {
                let double = self.number().map_or(0.0, |number| number.quantity.to_f64());
                hasher.hash_one((double + 0.0).to_bits())
            }
            JsonKind::String => hasher.hash_one(self.string()),
            JsonKind::Array => {
                let mut state = hasher.build_hasher();
                for element in self.elements() {
                    state.write_u64(element.hash(hasher));
                }
                state.finish()
            }
            // A sum, since the order does not count.
            JsonKind::Object => self.members().fold(1, |sum, member| {
                let member = hasher.hash_one((&member.name, member.value.hash(hasher)));
                sum.wrapping_add(member)
            }),
        }
    }
}

/// A place in a text as it is kept; an indexed text is never longer.
fn place(start: usize) -> u32 {
    u32::try_from(start).unwrap_or(u32::MAX)
}

/// The inside of an object or an array, from one value to the next.
#[derive(Debug, Clone, Copy)]
struct Children<'a> {
    document: &'a IndexedText<'a>,
    /// Where the next element, or the name of the next member, stands.
    next: usize,
}

impl<'a> Children<'a> {
    /// Starts at the opening bracket; none where the closing one follows.
    #[inline]
    fn new(document: &'a IndexedText<'a>, mut lexer: Lexer<'a>, close: u8) -> Option<Self> {
        lexer.advance();
        lexer.skip_whitespace();
        (lexer.peek() != Some(close)).then(|| Self { document, next: lexer.position() })
    }

    /// The name that stands here, and where its value begins.
    #[inline]
    fn named_value(self) -> (JsonString<'a>, usize) {
        let mut lexer = Lexer::starting_at(self.document.text(), self.next);
        let name = lexer.known_name();
        (name, lexer.position())
    }

    /// What follows the value that begins at `start`, if anything does.
    #[inline]
    fn after(self, start: usize) -> Option<Self> {
        let mut lexer = Lexer::starting_at(self.document.text(), self.document.end_of(start));
        lexer.skip_whitespace();
        // What is no comma here is the closing bracket: the text was read before.
        lexer.eat(b',').then(|| {
            lexer.skip_whitespace();
            Self { next: lexer.position(), ..self }
        })
    }
}

/// The elements of an array.
#[derive(Debug, Clone)]
pub(super) struct Elements<'a> {
    children: Option<Children<'a>>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = JsonValue<'a>;

    #[inline]
    fn next(&mut self) -> Option<JsonValue<'a>> {
        let children = self.children?;
        let Children { document, next: start } = children;
        self.children = children.after(start);
        Some(JsonValue::Placed { document, start })
    }
}

/// The members of an object.
#[derive(Debug, Clone)]
pub(super) struct Members<'a> {
    children: Option<Children<'a>>,
}

impl<'a> Members<'a> {
    /// The next member, its name not decoded.
    #[inline]
    fn next_name(&mut self) -> Option<(usize, JsonString<'a>, JsonValue<'a>)> {
        let children = self.children?;
        let (name, value) = children.named_value();
        self.children = children.after(value);
        Some((children.next, name, JsonValue::Placed { document: children.document, start: value }))
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    #[inline]
    fn next(&mut self) -> Option<Member<'a>> {
        let (start, name, value) = self.next_name()?;
        Some(Member { name: name.decode(), start, value })
    }
}
