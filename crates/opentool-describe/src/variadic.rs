//! Functions that take any number of arguments, where their comment shows with which to call them.

use std::rc::Rc;

use opentool_spec::CTypeName;

use crate::comments::Comment;
use crate::ctype::{Signature, Type, TypeKind};

/// How many arguments after the fixed ones are read.
const MOST: usize = 16;

/// The signature with the arguments after the fixed ones as the comment declares them: `int set(int key, int value)` above
/// `int set(int key, ...)`.
///
/// # Errors
///
/// Why there is none: nothing where the comment does not show any.
pub(crate) fn shown(name: &str, signature: &Signature, comment: Option<&Comment>) -> Result<Signature, Option<String>> {
    let comment = comment.filter(|comment| !comment.is_shared).ok_or(None)?;
    let fixed = signature.parameters.len();
    let mut found: Option<Vec<(Option<String>, Type)>> = None;
    for arguments in declarations(name, &comment.full) {
        let Some(further) = arguments.get(fixed..).filter(|further| !further.is_empty() && further.len() <= MOST)
        else {
            continue;
        };
        // A call with values shows less than a declaration: the types are not known.
        let Some(further) = further.iter().map(|argument| declared(argument)).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let is_same = |known: &Vec<(Option<String>, Type)>| {
            let types =
                |list: &[(Option<String>, Type)]| list.iter().map(|(_, kind)| kind.declare("")).collect::<Vec<_>>();
            types(known) == types(&further)
        };
        if found.as_ref().is_some_and(|known| !is_same(known)) {
            return Err(Some("and its comment shows several ways to call it".to_owned()));
        }
        found.get_or_insert(further);
    }
    let further = found.ok_or(None)?;
    if fixed == 0 {
        return Err(None);
    }
    let parameters = signature.parameters.iter().cloned().chain(further).collect();
    Ok(Signature { parameters, is_variadic: false, ..signature.clone() })
}

/// What stands between the parentheses after each mention of the function, by its commas.
fn declarations<'t>(name: &'t str, text: &'t str) -> impl Iterator<Item = Vec<&'t str>> {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    text.match_indices(name).filter_map(move |(at, _)| {
        let after = text[at + name.len()..].trim_start();
        let inside = after.strip_prefix('(').filter(|_| !text[..at].ends_with(is_part))?;
        let inside = &inside[..inside.find([')', '('])?];
        Some(inside.split(',').map(str::trim).collect())
    })
}

/// What C passes after the dots for a declaration such as `const char *text` or `double x`, with its name.
fn declared(argument: &str) -> Option<(Option<String>, Type)> {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    let mut words: Vec<&str> = argument.split(|char: char| !is_part(char)).filter(|word| !word.is_empty()).collect();
    let stars = argument.matches('*').count();
    if argument.chars().any(|char| !is_part(char) && !char.is_whitespace() && char != '*') {
        return None;
    }
    let is_const = words.contains(&"const");
    words.retain(|word| *word != "const");
    let known = |word: &&str| TYPE_WORDS.contains(word);
    let name = words.pop_if(|last| !known(last)).map(|name| name.to_owned());
    if words.is_empty() || !words.iter().all(known) {
        return None;
    }
    match stars {
        0 => Some((name, TypeKind::Scalar(promoted(&words)?).into())),
        // A text. Other pointers may be outputs, which only a person can say.
        1 if words == ["char"] && is_const => {
            let text = Type { kind: TypeKind::Scalar(CTypeName::Char), is_const: true };
            Some((name, TypeKind::Pointer(Rc::new(text)).into()))
        }
        _ => None,
    }
}

/// The words that types are made of.
const TYPE_WORDS: [&str; 22] = [
    "int",
    "long",
    "short",
    "char",
    "unsigned",
    "signed",
    "double",
    "float",
    "bool",
    "_Bool",
    "size_t",
    "ssize_t",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "intptr_t",
    "uintptr_t",
];

/// The type that C passes after the dots: nothing narrower than `int`, and no `float`.
fn promoted(words: &[&str]) -> Option<CTypeName> {
    let has = |word: &str| words.contains(&word);
    let longs = words.iter().filter(|word| **word == "long").count();
    let named = |name: &str| words == [name];
    Some(match (longs, has("unsigned")) {
        _ if has("double") && longs > 0 => return None,
        _ if has("double") || has("float") => CTypeName::Double,
        _ if has("short") || has("char") || has("bool") || has("_Bool") => CTypeName::Int,
        _ if ["int8_t", "int16_t", "int32_t", "uint8_t", "uint16_t"].iter().any(|name| named(name)) => CTypeName::Int,
        _ if named("uint32_t") => CTypeName::UnsignedInt,
        _ if named("int64_t") => CTypeName::LongLong,
        _ if named("uint64_t") => CTypeName::UnsignedLongLong,
        _ if ["ssize_t", "intptr_t"].iter().any(|name| named(name)) => CTypeName::Long,
        _ if ["size_t", "uintptr_t"].iter().any(|name| named(name)) => CTypeName::UnsignedLong,
        _ if !words.iter().all(|word| ["int", "long", "unsigned", "signed"].contains(word)) => return None,
        (0, false) => CTypeName::Int,
        (0, true) => CTypeName::UnsignedInt,
        (1, false) => CTypeName::Long,
        (1, true) => CTypeName::UnsignedLong,
        (2, false) => CTypeName::LongLong,
        (2, true) => CTypeName::UnsignedLongLong,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn said(text: &str) -> Comment {
        Comment { full: text.to_owned(), ..Comment::default() }
    }

    fn further(text: &str) -> Result<Vec<String>, Option<String>> {
        let int = || -> Type { TypeKind::Scalar(CTypeName::Int).into() };
        let signature = Signature {
            returns: int(),
            parameters: vec![(Some("key".to_owned()), int())],
            is_variadic: true,
            is_unspecified: false,
        };
        let shown = shown("set", &signature, Some(&said(text)))?;
        Ok(shown.parameters[1..].iter().map(|(name, kind)| kind.declare(name.as_deref().unwrap_or("_"))).collect())
    }

    #[test]
    fn a_declaration_in_the_comment_shows_the_arguments() {
        assert_eq!(
            further("Sets it: set(int key, const char *text, float x)").unwrap(),
            ["const char *text", "double x"]
        );
        assert_eq!(further("set(key, unsigned long size)").unwrap(), ["unsigned long size"]);
        assert_eq!(further("int set(int key, short)").unwrap(), ["int _"]);
    }

    #[test]
    fn what_shows_no_types_or_several_is_left_alone() {
        for text in [
            "Sets it.",
            "set(1, 2)",
            "set(key, ...)",
            "reset(int key, int x)",
            "set(int key, char *out)",
            "set(int key)",
        ] {
            assert_eq!(further(text), Err(None), "{text}");
        }
        let several = further("set(int key, int x) or set(int key, double x)").unwrap_err().unwrap();
        assert_eq!(several, "and its comment shows several ways to call it");
    }
}
