//! Headers that need a C++ compiler.

use super::preprocess::Preprocessed;

/// Standard headers that only C++ has.
const STANDARD: &[&str] = &[
    "algorithm",
    "any",
    "array",
    "atomic",
    "bitset",
    "chrono",
    "complex",
    "concepts",
    "cstddef",
    "cstdint",
    "cstdio",
    "cstdlib",
    "cstring",
    "deque",
    "exception",
    "expected",
    "filesystem",
    "format",
    "fstream",
    "functional",
    "initializer_list",
    "iomanip",
    "ios",
    "iosfwd",
    "iostream",
    "istream",
    "iterator",
    "limits",
    "list",
    "map",
    "memory",
    "mutex",
    "new",
    "numeric",
    "optional",
    "ostream",
    "queue",
    "random",
    "ranges",
    "regex",
    "set",
    "span",
    "sstream",
    "stdexcept",
    "streambuf",
    "string",
    "string_view",
    "thread",
    "tuple",
    "type_traits",
    "typeinfo",
    "unordered_map",
    "unordered_set",
    "utility",
    "variant",
    "vector",
    "cmath",
];

/// What showed that a header is C++, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sign {
    pub(super) place: String,
    pub(super) text: String,
}

/// The complaint of a C compiler about a header of the C++ library.
pub(super) fn missing_standard_header(said: &str) -> Option<Sign> {
    said.lines().find_map(|line| {
        let (place, complaint) = line.split_once(" fatal error: ")?;
        let name = complaint.split([':', ' ', '\'']).find(|word| !word.is_empty())?;
        let mut place = place.trim_end_matches(':').split(':');
        let place = format!("{}:{}", place.next()?, place.next()?);
        STANDARD.contains(&name).then(|| Sign { place, text: format!("#include <{name}>") })
    })
}

/// The first thing in the wanted headers that C does not have.
pub(super) fn find(source: &Preprocessed) -> Option<Sign> {
    for (offset, piece) in source.wanted() {
        let mut before = ';';
        let mut chars = piece.char_indices().peekable();
        while let Some((at, char)) = chars.next() {
            let rest = &piece[at..];
            let starts_statement = matches!(before, ';' | '{' | '}');
            let is_sign = match char {
                '"' | '\'' => {
                    let mut escaped = false;
                    for (_, inner) in chars.by_ref() {
                        match inner {
                            _ if escaped => escaped = false,
                            '\\' => escaped = true,
                            _ if inner == char => break,
                            _ => {}
                        }
                    }
                    false
                }
                ':' => rest.starts_with("::"),
                _ if starts_statement && char.is_alphabetic() => {
                    let word =
                        rest.split(|char: char| !char.is_alphanumeric() && char != '_').next().unwrap_or_default();
                    let after = rest[word.len()..].trim_start();
                    match word {
                        "class" | "namespace" => after.starts_with(char::is_alphabetic) || after.starts_with('{'),
                        "template" => after.starts_with('<'),
                        "using" => after.starts_with(char::is_alphabetic),
                        "public" | "private" | "protected" => after.starts_with(':'),
                        "extern" => after.starts_with("\"C"),
                        _ => false,
                    }
                }
                _ => false,
            };
            if is_sign {
                let line = piece[..at].rfind('\n').map_or(0, |newline| newline + 1);
                let text = piece[line..].lines().next().unwrap_or_default().trim().chars().take(60).collect();
                let place = source.place(offset + at);
                let place = place.map(|place| format!("{}:{}", place.file.display(), place.line)).unwrap_or_default();
                return Some(Sign { place, text });
            }
            if !char.is_whitespace() {
                before = char;
            }
        }
    }
    None
}
