//! The arguments as a tree that remembers where in the text each value stands.
//!
//! It borrows from the text, so it is cheaper to build than a `serde_json::Value`, keeps every
//! number's own text, and lets a value be cut out of the text or quoted from it.

use std::{borrow::Cow, ops::Range};

use opentool_spec::json::{JsonError, JsonErrorKind, Lexer, MAX_DEPTH, Number, pointer};

/// Objects with more members than this are kept sorted by name and searched by halving.
const SORTED_ABOVE: usize = 16;

/// A value and its place in the text.
#[derive(Debug, Default)]
pub(super) struct Item<'t> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: ItemKind<'t>,
}

/// What a value is.
#[derive(Debug, Default)]
pub(super) enum ItemKind<'t> {
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
pub(super) struct ArgumentTree<'t> {
    pub(super) root: Item<'t>,
    /// Where the names stand that an earlier member of the same object already has.
    pub(super) duplicates: Vec<usize>,
    /// Whether any member of any object is `null`.
    pub(super) has_null_member: bool,
}

impl<'t> ArgumentTree<'t> {
    /// Parses a text, on past duplicate names.
    pub(super) fn parse(text: &'t str) -> Result<Self, JsonError> {
        let mut parser = Parser { lexer: Lexer::new(text), depth: 0, duplicates: Vec::new(), has_null_member: false };
        parser.lexer.skip_whitespace();
        let root = parser.value()?;
        parser.lexer.expect_end()?;
        parser.duplicates.sort_unstable();
        parser.duplicates.dedup();
        Ok(Self { root, duplicates: parser.duplicates, has_null_member: parser.has_null_member })
    }
}

impl<'t> ArgumentTree<'t> {
    /// The members of the root, where it is an object.
    pub(super) fn members(&self) -> impl Iterator<Item = &Member<'t>> {
        match &self.root.kind {
            ItemKind::Object(members) => members.iter(),
            _ => [].iter(),
        }
    }
}

impl<'t> Item<'t> {
    /// The value's own text.
    pub(super) fn text<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start..self.end).unwrap_or_default()
    }

    /// The value that a JSON pointer names.
    pub(super) fn find(&self, path: &str) -> Option<&Item<'t>> {
        let mut found = self;
        for token in pointer::tokens(path) {
            found = match &found.kind {
                ItemKind::Object(members) => members.get(&token)?,
                ItemKind::Array(items) => items.get(token.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(found)
    }

    /// The JSON pointer and the name of the member whose name stands at `start`.
    pub(super) fn member_at(&self, start: usize) -> Option<(String, &str)> {
        let mut path = String::new();
        let mut around = self;
        loop {
            match &around.kind {
                ItemKind::Object(members) => {
                    let inside = |member: &&Member<'_>| (member.start..member.value.end).contains(&start);
                    let member = members.iter().find(inside)?;
                    pointer::push(&mut path, &member.name);
                    if member.start == start {
                        return Some((path, &member.name));
                    }
                    around = &member.value;
                }
                ItemKind::Array(items) => {
                    let inside = |item: &Item<'_>| (item.start..item.end).contains(&start);
                    let index = items.iter().position(inside)?;
                    pointer::push(&mut path, &index.to_string());
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
        let mut decisions = places.iter();
        self.0.retain(|_| decisions.next().is_none_or(|(_, stays)| *stays));
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

struct Parser<'t> {
    lexer: Lexer<'t>,
    depth: usize,
    duplicates: Vec<usize>,
    has_null_member: bool,
}

impl<'t> Parser<'t> {
    fn value(&mut self) -> Result<Item<'t>, JsonError> {
        let start = self.lexer.position();
        let kind = match self.lexer.peek() {
            Some(b'"') => ItemKind::String(self.lexer.string()?.decode()),
            Some(b'-' | b'0'..=b'9') => ItemKind::Number(self.lexer.number()?),
            Some(b'{') => ItemKind::Object(self.nested(Self::members)?),
            Some(b'[') => ItemKind::Array(self.nested(Self::items)?),
            Some(b't') => self.lexer.literal("true").map(|()| ItemKind::Bool(true))?,
            Some(b'f') => self.lexer.literal("false").map(|()| ItemKind::Bool(false))?,
            Some(b'n') => self.lexer.literal("null").map(|()| ItemKind::Null)?,
            _ => return Err(self.lexer.error(JsonErrorKind::Value)),
        };
        Ok(Item { start, end: self.lexer.position(), kind })
    }

    fn nested<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T, JsonError>) -> Result<T, JsonError> {
        if self.depth == MAX_DEPTH {
            return Err(self.lexer.error(JsonErrorKind::Depth));
        }
        self.depth += 1;
        self.lexer.advance();
        let inside = inside(self)?;
        self.depth -= 1;
        Ok(inside)
    }

    fn items(&mut self) -> Result<Vec<Item<'t>>, JsonError> {
        let mut items = Vec::new();
        self.lexer.skip_whitespace();
        if self.lexer.eat(b']') {
            return Ok(items);
        }
        loop {
            self.lexer.skip_whitespace();
            items.push(self.value()?);
            if self.lexer.closes(false)? {
                return Ok(items);
            }
        }
    }

    fn members(&mut self) -> Result<Members<'t>, JsonError> {
        let mut members = Vec::new();
        self.lexer.skip_whitespace();
        if self.lexer.eat(b'}') {
            return Ok(Members(members));
        }
        loop {
            let member = self.member()?;
            if members.len() < SORTED_ABOVE && contains(&members, &member.name) {
                self.duplicates.push(member.start);
            }
            members.push(member);
            if self.lexer.closes(true)? {
                break;
            }
        }
        if members.len() > SORTED_ABOVE {
            self.sort(&mut members);
        }
        Ok(Members(members))
    }

    fn member(&mut self) -> Result<Member<'t>, JsonError> {
        self.lexer.skip_whitespace();
        let start = self.lexer.position();
        let name = self.lexer.name()?.decode();
        let value = self.value()?;
        self.has_null_member |= matches!(value.kind, ItemKind::Null);
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
