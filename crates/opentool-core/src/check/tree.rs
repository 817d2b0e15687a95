//! The arguments as a tree that remembers where in the text each value stands.
//!
//! It borrows from the text, so it is cheaper to build than a `serde_json::Value`, keeps every
//! number's own text, and lets a value be cut out of the text or quoted from it.

use std::{borrow::Cow, ops::Range};

use super::{
    cursor::{Cursor, MAX_DEPTH, Malformed},
    number::Number,
};

/// Objects with more members than this are kept sorted by name and searched by halving.
const SORTED_ABOVE: usize = 16;

/// A value and its place in the text.
#[derive(Debug, Default)]
pub(super) struct Item<'t> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind<'t>,
}

/// What a value is.
#[derive(Debug, Default)]
pub(super) enum Kind<'t> {
    #[default]
    Null,
    Bool(bool),
    Number(Number<'t>),
    String(Cow<'t, str>),
    Array(Vec<Item<'t>>),
    Object(Members<'t>),
}

/// The members of an object: in the text's order while they are few, else by name.
#[derive(Debug, Default)]
pub(super) struct Members<'t>(Vec<Member<'t>>);

/// A member of an object.
#[derive(Debug)]
pub(super) struct Member<'t> {
    pub(super) name: Cow<'t, str>,
    /// Where the name's opening quote stands.
    pub(super) start: usize,
    pub(super) value: Item<'t>,
}

/// A parsed text.
#[derive(Debug)]
pub(super) struct Tree<'t> {
    pub(super) root: Item<'t>,
    /// Where the names stand that an earlier member of the same object already has.
    pub(super) duplicates: Vec<usize>,
    /// Whether any member of any object is `null`.
    pub(super) has_null_member: bool,
}

impl<'t> Tree<'t> {
    /// Parses a text, on past duplicate names.
    pub(super) fn parse(text: &'t str) -> Result<Self, Malformed> {
        let mut parser = Parser { cursor: Cursor::new(text), depth: 0, duplicates: Vec::new(), has_null_member: false };
        parser.cursor.skip_whitespace();
        let root = parser.value()?;
        parser.cursor.expect_end()?;
        parser.duplicates.sort_unstable();
        parser.duplicates.dedup();
        Ok(Self { root, duplicates: parser.duplicates, has_null_member: parser.has_null_member })
    }
}

impl<'t> Item<'t> {
    /// The value's own text.
    pub(super) fn text<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start..self.end).unwrap_or_default()
    }

    /// The value that a JSON pointer names.
    pub(super) fn find(&self, pointer: &str) -> Option<&Item<'t>> {
        let mut found = self;
        for token in pointer.split('/').skip(1) {
            found = match &found.kind {
                Kind::Object(members) => members.get(&unescape_token(token))?,
                Kind::Array(items) => items.get(token.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(found)
    }

    /// The JSON pointer and the name of the member whose name stands at `start`.
    pub(super) fn member_at(&self, start: usize) -> Option<(String, &str)> {
        let mut pointer = String::new();
        let mut around = self;
        loop {
            match &around.kind {
                Kind::Object(members) => {
                    let inside = |member: &&Member<'_>| (member.start..member.value.end).contains(&start);
                    let member = members.iter().find(inside)?;
                    push_token(&mut pointer, &member.name);
                    if member.start == start {
                        return Some((pointer, &member.name));
                    }
                    around = &member.value;
                }
                Kind::Array(items) => {
                    let inside = |item: &Item<'_>| (item.start..item.end).contains(&start);
                    let index = items.iter().position(inside)?;
                    push_token(&mut pointer, &index.to_string());
                    around = items.get(index)?;
                }
                _ => return None,
            }
        }
    }
}

impl<'t> Members<'t> {
    pub(super) fn iter(&self) -> std::slice::Iter<'_, Member<'t>> {
        self.0.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Item<'t>> {
        let member = if self.0.len() > SORTED_ABOVE {
            let at = self.0.binary_search_by(|member| (*member.name).cmp(name));
            at.ok().and_then(|at| self.0.get(at))
        } else {
            self.0.iter().find(|member| member.name == name)
        };
        member.map(|member| &member.value)
    }

    /// Visits every member that stays and removes the others, adding to `cuts` what must leave the
    /// text so that the rest stays JSON.
    pub(super) fn retain(
        &mut self,
        cuts: &mut Vec<Range<usize>>,
        mut stays: impl FnMut(&mut Member<'t>, &mut Vec<Range<usize>>) -> bool,
    ) {
        let mut places = Vec::with_capacity(self.0.len());
        for member in &mut self.0 {
            let stays = stays(member, cuts);
            places.push((member.start..member.value.end, stays));
        }
        if places.iter().all(|(_, stays)| *stays) {
            return;
        }
        let mut verdicts = places.iter();
        self.0.retain(|_| verdicts.next().is_none_or(|(_, stays)| *stays));
        // A large object is in the order of its names, also after it has shrunk.
        places.sort_unstable_by_key(|(place, _)| place.start);
        cut_members(&places, cuts);
    }
}

/// Adds what to cut for the members that do not stay: each with the comma after it, and for those
/// at the end the comma before them.
fn cut_members(places: &[(Range<usize>, bool)], cuts: &mut Vec<Range<usize>>) {
    let mut last_kept_end = None;
    for (index, (place, stays)) in places.iter().enumerate() {
        if *stays {
            last_kept_end = Some(place.end);
        } else if let Some((next, _)) = places.get(index + 1) {
            cuts.push(place.start..next.start);
        } else {
            cuts.push(last_kept_end.unwrap_or(place.start)..place.end);
        }
    }
}

/// Appends a token to a JSON pointer.
pub(super) fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

fn unescape_token(token: &str) -> Cow<'_, str> {
    if token.contains('~') { Cow::Owned(token.replace("~1", "/").replace("~0", "~")) } else { Cow::Borrowed(token) }
}

struct Parser<'t> {
    cursor: Cursor<'t>,
    depth: usize,
    duplicates: Vec<usize>,
    has_null_member: bool,
}

impl<'t> Parser<'t> {
    fn value(&mut self) -> Result<Item<'t>, Malformed> {
        let start = self.cursor.at();
        let kind = match self.cursor.peek() {
            Some(b'"') => Kind::String(self.cursor.string()?.decode()),
            Some(b'-' | b'0'..=b'9') => Kind::Number(self.cursor.number()?),
            Some(b'{') => Kind::Object(self.nested(Self::members)?),
            Some(b'[') => Kind::Array(self.nested(Self::items)?),
            Some(b't') => self.cursor.literal("true").map(|()| Kind::Bool(true))?,
            Some(b'f') => self.cursor.literal("false").map(|()| Kind::Bool(false))?,
            Some(b'n') => self.cursor.literal("null").map(|()| Kind::Null)?,
            _ => return Err(self.cursor.malformed("expected a value")),
        };
        Ok(Item { start, end: self.cursor.at(), kind })
    }

    fn nested<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T, Malformed>) -> Result<T, Malformed> {
        if self.depth == MAX_DEPTH {
            return Err(self.cursor.malformed("expected at most 127 levels of nesting"));
        }
        self.depth += 1;
        self.cursor.advance();
        let inside = inside(self)?;
        self.depth -= 1;
        Ok(inside)
    }

    fn items(&mut self) -> Result<Vec<Item<'t>>, Malformed> {
        let mut items = Vec::new();
        self.cursor.skip_whitespace();
        if self.cursor.eat(b']') {
            return Ok(items);
        }
        loop {
            self.cursor.skip_whitespace();
            items.push(self.value()?);
            self.cursor.skip_whitespace();
            if self.cursor.eat(b']') {
                return Ok(items);
            }
            self.cursor.expect(b',', "expected `,` or `]`")?;
        }
    }

    fn members(&mut self) -> Result<Members<'t>, Malformed> {
        let mut members = Vec::new();
        self.cursor.skip_whitespace();
        if self.cursor.eat(b'}') {
            return Ok(Members(members));
        }
        loop {
            let member = self.member()?;
            if members.len() < SORTED_ABOVE && contains(&members, &member.name) {
                self.duplicates.push(member.start);
            }
            members.push(member);
            self.cursor.skip_whitespace();
            if self.cursor.eat(b'}') {
                break;
            }
            self.cursor.expect(b',', "expected `,` or `}`")?;
        }
        if members.len() > SORTED_ABOVE {
            self.sort(&mut members);
        }
        Ok(Members(members))
    }

    fn member(&mut self) -> Result<Member<'t>, Malformed> {
        self.cursor.skip_whitespace();
        let start = self.cursor.at();
        if self.cursor.peek() != Some(b'"') {
            return Err(self.cursor.malformed("expected a name in double quotes"));
        }
        let name = self.cursor.string()?.decode();
        self.cursor.expect(b':', "expected `:`")?;
        self.cursor.skip_whitespace();
        let value = self.value()?;
        self.has_null_member |= matches!(value.kind, Kind::Null);
        Ok(Member { name, start, value })
    }

    /// Sorts the members of a large object, which brings names that are there twice together.
    fn sort(&mut self, members: &mut [Member<'t>]) {
        members.sort_by(|left, right| left.name.cmp(&right.name));
        for pair in members.windows(2) {
            if let [first, second] = pair
                && first.name == second.name
            {
                self.duplicates.push(second.start);
            }
        }
    }
}

fn contains(members: &[Member<'_>], name: &str) -> bool {
    members.iter().any(|member| member.name == name)
}
