//! JSON pointers (RFC 6901): writing, splitting and following them.

use std::borrow::Cow;
use std::ops::Range;

use super::lexer::Lexer;

/// Appends a token to a pointer: a slash and the name, with `~` and `/` escaped.
pub fn push(pointer: &mut String, token: &str) {
    pointer.push('/');
    push_escaped(pointer, token);
}

/// Appends a name with `~` and `/` escaped.
pub fn push_escaped(pointer: &mut String, token: &str) {
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// The pointer to a member of the root.
#[must_use]
pub fn to_member(name: &str) -> String {
    let mut pointer = String::with_capacity(name.len() + 1);
    push(&mut pointer, name);
    pointer
}

/// The name that a token of a pointer stands for.
#[must_use]
pub fn unescape(token: &str) -> Cow<'_, str> {
    if token.contains('~') { Cow::Owned(token.replace("~1", "/").replace("~0", "~")) } else { Cow::Borrowed(token) }
}

/// The names and indices that a pointer leads through, from the root; none for the root itself.
pub fn tokens(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(unescape)
}

/// The names and indices that a reference such as `#/schemas/User` leads through; none where it is no pointer into its own
/// document.
#[must_use]
pub fn reference_tokens(reference: &str) -> Option<impl Iterator<Item = Cow<'_, str>>> {
    let pointer = reference.strip_prefix("#/")?;
    Some(pointer.split('/').map(|token| match percent_decoded(token) {
        Cow::Borrowed(token) => unescape(token),
        Cow::Owned(token) => Cow::Owned(unescape(&token).into_owned()),
    }))
}

/// A pointer in a URL fragment without its percent-encoding; what is not encoded soundly stays as it is.
#[must_use]
pub fn percent_decoded(fragment: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(fragment).decode_utf8().unwrap_or(Cow::Borrowed(fragment))
}

/// The bytes of the value that a pointer leads to in a JSON text; of the last one where a name is there twice.
#[must_use]
pub fn find(text: &str, pointer: &str) -> Option<Range<usize>> {
    let mut lexer = Lexer::new(text);
    lexer.skip_whitespace();
    for token in tokens(pointer) {
        let at = child(&mut lexer, &token)?;
        lexer = Lexer::starting_at(text, at);
    }
    let start = lexer.position();
    lexer.skip_value().ok()?;
    Some(start..lexer.position())
}

/// Where the child of this name or index begins.
fn child(lexer: &mut Lexer<'_>, token: &str) -> Option<usize> {
    let is_object = lexer.eat(b'{');
    if !is_object && !lexer.eat(b'[') {
        return None;
    }
    lexer.skip_whitespace();
    if matches!(lexer.peek(), Some(b'}' | b']')) {
        return None;
    }
    let wanted = if is_object { None } else { Some(token.parse::<usize>().ok()?) };
    let mut found = None;
    for index in 0.. {
        let matches = match wanted {
            None => lexer.name().ok()?.decode() == token,
            Some(wanted) => {
                lexer.skip_whitespace();
                index == wanted
            }
        };
        if matches {
            found = Some(lexer.position());
        }
        lexer.skip_value().ok()?;
        if lexer.closes(is_object).ok()? {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests;
