//! One pass over a text that has to be JSON without repeated names, without a tree.

use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::{
    error::{JsonError, JsonErrorKind},
    lexer::{Lexer, MAX_DEPTH, OpenLevels},
    string::JsonString,
};

/// Up to so many names of an object are compared one by one, which is faster than hashing them (`cargo bench -p opentool-core
/// --bench check`).
const FEW: usize = 16;

/// Reads a text that is one JSON value and says whether in every object, at any depth, all names differ.
///
/// `root_name` is asked about every name of the root and ends the pass by returning `false`, which counts as a no.
///
/// # Errors
///
/// Where the text is not JSON, or nests deeper than [`MAX_DEPTH`].
pub fn check_unique_names(text: &str, mut root_name: impl FnMut(&str) -> bool) -> Result<bool, JsonError> {
    let mut lexer = Lexer::new(text);
    let mut open = OpenNames::new(text);
    loop {
        lexer.skip_whitespace();
        match lexer.peek() {
            Some(first @ (b'{' | b'[')) => {
                if open.depth() == MAX_DEPTH {
                    return Err(lexer.error(JsonErrorKind::Depth));
                }
                lexer.advance();
                lexer.skip_whitespace();
                let is_object = first == b'{';
                if !lexer.eat(if is_object { b'}' } else { b']' }) {
                    open.push(is_object);
                    if is_object && !next_name(&mut open, &mut lexer, &mut root_name)? {
                        return Ok(false);
                    }
                    continue;
                }
            }
            _ => lexer.skip_scalar()?,
        }
        loop {
            let Some(is_object) = open.is_in_object() else {
                return lexer.expect_end().map(|()| true);
            };
            if !lexer.closes(is_object)? {
                if is_object && !next_name(&mut open, &mut lexer, &mut root_name)? {
                    return Ok(false);
                }
                break;
            }
            open.pop();
        }
    }
}

/// Reads the next name of the innermost object; says whether it is new, and at the root wanted.
fn next_name<'t>(
    open: &mut OpenNames<'t>,
    lexer: &mut Lexer<'t>,
    root_name: &mut impl FnMut(&str) -> bool,
) -> Result<bool, JsonError> {
    lexer.skip_whitespace();
    let start = lexer.position();
    let name = lexer.name()?;
    let is_wanted = open.depth() > 1 || root_name(&name.decode());
    Ok(is_wanted && open.insert(start, name))
}

/// The names of the objects around a position, to find those that an object has twice.
///
/// It remembers where names stand and not the names: the memory is at most a small part of the text, however many names
/// there are.
#[derive(Debug)]
pub struct OpenNames<'t> {
    text: &'t str,
    levels: OpenLevels,
    /// The names of all open objects that have few.
    few: Vec<KnownName<'t>>,
    /// Where the names of the other open objects stand in the text, with how deep the object is.
    many: Vec<(usize, HashTable<u32>)>,
    hasher: RandomState,
    /// How many bytes the tables of many names have.
    allocated: usize,
}

#[derive(Debug)]
struct KnownName<'t> {
    /// How deep the object is that has the name.
    depth: usize,
    start: usize,
    name: JsonString<'t>,
}

impl<'t> OpenNames<'t> {
    /// Starts outside of every object of a text.
    #[inline]
    #[must_use]
    pub fn new(text: &'t str) -> Self {
        let (few, many) = (Vec::with_capacity(FEW), Vec::new());
        Self { text, levels: OpenLevels::default(), few, many, hasher: RandomState::default(), allocated: 0 }
    }

    /// How many objects and arrays are open.
    #[inline]
    #[must_use]
    pub fn depth(&self) -> usize {
        self.levels.depth()
    }

    /// Whether the innermost one is an object; none where nothing is open.
    #[inline]
    #[must_use]
    pub fn is_in_object(&self) -> Option<bool> {
        self.levels.last()
    }

    /// How many bytes of memory the names take now, where they are many.
    #[inline]
    #[must_use]
    pub fn allocated(&self) -> usize {
        self.allocated
    }

    /// Enters an object or an array.
    #[inline]
    pub fn push(&mut self, is_object: bool) {
        self.levels.push(is_object);
    }

    /// Leaves the innermost one.
    #[inline]
    pub fn pop(&mut self) {
        let depth = self.depth();
        if depth == 0 {
            return;
        }
        self.few.truncate(self.first_of_innermost());
        if let Some((_, many)) = self.many.pop_if(|(level, _)| *level == depth) {
            self.allocated -= many.allocation_size();
        }
        self.levels.pop();
    }

    /// Where the few names of the innermost object begin.
    #[inline]
    fn first_of_innermost(&self) -> usize {
        let depth = self.depth();
        self.few.iter().rposition(|known| known.depth != depth).map_or(0, |last| last + 1)
    }

    /// Whether the innermost object has many names.
    #[inline]
    fn has_many(&self) -> bool {
        self.many.last().is_some_and(|(level, _)| *level == self.depth())
    }

    /// Adds a name of the innermost object, whose opening quote stands at `start`; says whether the object did not have it
    /// yet.
    #[inline]
    pub fn insert(&mut self, start: usize, name: JsonString<'t>) -> bool {
        let depth = self.depth();
        if depth == 0 {
            return true;
        }
        if !self.has_many() {
            let known = self.few.get(self.first_of_innermost()..).unwrap_or_default();
            if known.iter().any(|known| same(known.name, name)) {
                return false;
            }
            if known.len() < FEW {
                self.few.push(KnownName { depth, start, name });
                return true;
            }
        }
        self.insert_many(start, name)
    }

    #[cold]
    fn insert_many(&mut self, start: usize, name: JsonString<'t>) -> bool {
        let (text, hasher) = (self.text, &self.hasher);
        let hash_at = |at: &u32| hash(hasher, name_at(text, *at));
        if !self.has_many() {
            let mut many = HashTable::with_capacity(4 * FEW);
            for known in self.few.drain(self.first_of_innermost()..) {
                many.insert_unique(hash(hasher, known.name), place(known.start), hash_at);
            }
            self.allocated += many.allocation_size();
            self.many.push((self.levels.depth(), many));
        }
        let Some((_, many)) = self.many.last_mut() else { return true };
        let hashed = hash(hasher, name);
        if many.find(hashed, |at| same(name_at(text, *at), name)).is_some() {
            return false;
        }
        let before = many.allocation_size();
        many.insert_unique(hashed, place(start), hash_at);
        self.allocated += many.allocation_size() - before;
        true
    }
}

/// A place in a text as it is kept. No name of a longer text is compared: `name_at` finds none there.
fn place(start: usize) -> u32 {
    u32::try_from(start).unwrap_or(u32::MAX)
}

fn name_at(text: &str, start: u32) -> JsonString<'_> {
    Lexer::starting_at(text, start as usize).string().unwrap_or(JsonString { raw: "", escaped: false })
}

fn hash(hasher: &RandomState, name: JsonString<'_>) -> u64 {
    hasher.hash_one(&*name.decode())
}

/// Whether two names mean the same, however they are escaped.
#[inline]
fn same(left: JsonString<'_>, right: JsonString<'_>) -> bool {
    if left.escaped || right.escaped { left.decode() == right.decode() } else { left.raw == right.raw }
}
