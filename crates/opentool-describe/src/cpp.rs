//! Headers that need a C++ compiler.

use crate::cpp_sign::CppSign;
use crate::preprocess::Preprocessed;

/// The first thing in the wanted headers that C does not have.
pub(crate) fn find(source: &Preprocessed) -> Option<CppSign> {
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
                return Some(CppSign { place, text });
            }
            if !char.is_whitespace() {
                before = char;
            }
        }
    }
    None
}
