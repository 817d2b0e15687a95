//! One pass over a text that has to be JSON without repeated names, without a tree.

use std::borrow::Cow;

use foldhash::{HashSet, HashSetExt as _};

use super::{
    error::{JsonError, JsonErrorKind},
    lexer::{Lexer, MAX_DEPTH},
};

/// Up to so many names of an object are compared one by one, which is faster than hashing them.
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
    let mut open = OpenLevels::default();
    loop {
        lexer.skip_whitespace();
        match lexer.peek() {
            Some(first @ (b'{' | b'[')) => {
                if open.levels.len() == MAX_DEPTH {
                    return Err(lexer.error(JsonErrorKind::Depth));
                }
                lexer.advance();
                lexer.skip_whitespace();
                let is_object = first == b'{';
                if !lexer.eat(if is_object { b'}' } else { b']' }) {
                    open.push(is_object);
                    if is_object && !open.name(&mut lexer, &mut root_name)? {
                        return Ok(false);
                    }
                    continue;
                }
            }
            _ => lexer.skip_scalar()?,
        }
        loop {
            let Some(is_object) = open.levels.last().map(|level| level.is_object) else {
                return lexer.expect_end().map(|()| true);
            };
            if !lexer.closes(is_object)? {
                if is_object && !open.name(&mut lexer, &mut root_name)? {
                    return Ok(false);
                }
                break;
            }
            open.pop();
        }
    }
}

/// The objects and arrays around the current position, outermost first.
#[derive(Default)]
struct OpenLevels<'t> {
    levels: Vec<Level<'t>>,
    /// The names of all open objects, so far as they are few.
    names: Vec<Cow<'t, str>>,
}

struct Level<'t> {
    is_object: bool,
    /// Where the names of this object begin.
    first_name: usize,
    /// All names, where they are many.
    many: Option<HashSet<Cow<'t, str>>>,
}

impl<'t> OpenLevels<'t> {
    fn push(&mut self, is_object: bool) {
        self.levels.push(Level { is_object, first_name: self.names.len(), many: None });
    }

    fn pop(&mut self) {
        if let Some(level) = self.levels.pop() {
            self.names.truncate(level.first_name);
        }
    }

    /// Reads the next name of the innermost object; says whether it is new, and at the root wanted.
    fn name(&mut self, lexer: &mut Lexer<'t>, root_name: &mut impl FnMut(&str) -> bool) -> Result<bool, JsonError> {
        let name = lexer.name()?.decode();
        let is_root = self.levels.len() == 1;
        let Some(level) = self.levels.last_mut() else { return Ok(true) };
        if is_root && !root_name(&name) {
            return Ok(false);
        }
        if let Some(many) = &mut level.many {
            return Ok(many.insert(name));
        }
        let known = self.names.get(level.first_name..).unwrap_or_default();
        if known.contains(&name) {
            return Ok(false);
        }
        if known.len() < FEW {
            self.names.push(name);
        } else {
            let mut many = HashSet::with_capacity(4 * FEW);
            many.extend(self.names.drain(level.first_name..));
            many.insert(name);
            level.many = Some(many);
        }
        Ok(true)
    }
}
