//! The many ways to spell a C type.

use crate::{json::near::misspelt, model::CTypeName};

/// What a text means as a C type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spelling {
    /// One of the fourteen, as the spec writes it.
    Exact(CTypeName),
    /// Another way to write one of them, or a pointer to it.
    Alias(CTypeName, bool),
    /// A C type that cannot be passed, and why.
    Unsupported(&'static str),
    /// No C type; perhaps a misspelt one.
    Unknown(Option<CTypeName>),
}

/// What `text` means as a C type; `pointer` is the value of `isPointer` beside the name.
pub(super) fn spelling(text: &str, pointer: bool) -> Spelling {
    if let Some(name) = CTypeName::from_name(text) {
        return Spelling::Exact(name);
    }
    if text.contains('(') {
        return Spelling::Unsupported("it is a function pointer");
    }
    if text.contains('[') {
        return Spelling::Unsupported("an array is passed as a pointer to its elements");
    }
    let stars = text.matches('*').count();
    if stars > 1 {
        return Spelling::Unsupported("a pointer to a pointer is passed only as a handle, by `x-handle`");
    }
    let spaced = text.replace('*', " ");
    let mut words: Vec<&str> =
        spaced.split_whitespace().filter(|word| !matches!(*word, "const" | "volatile" | "restrict")).collect();
    match words.first() {
        Some(&"struct" | &"union") if stars == 0 && !pointer => {
            return Spelling::Unsupported("a struct is not passed by value");
        }
        // The struct stays opaque: the pointer is a handle.
        Some(&"struct" | &"union") => return Spelling::Alias(CTypeName::Void, true),
        Some(&"enum") => return Spelling::Alias(CTypeName::Int, stars == 1),
        _ => {}
    }
    if words.contains(&"double") && words.contains(&"long") {
        return Spelling::Unsupported("`long double` has no counterpart in JSON or in the spec");
    }
    // `unsigned` may be in any position, and `int` adds nothing to a size.
    words.sort_by_key(|word| !matches!(*word, "unsigned" | "signed"));
    if words.len() > 1 && words.iter().any(|word| matches!(*word, "long" | "short" | "unsigned" | "signed")) {
        words.retain(|word| *word != "int");
    }
    let name = match words.join(" ").as_str() {
        "_Bool" | "boolean" => CTypeName::Bool,
        "signed char" | "int8_t" => CTypeName::Char,
        "uint8_t" | "uchar" => CTypeName::UnsignedChar,
        "signed short" | "int16_t" => CTypeName::Short,
        "uint16_t" | "ushort" => CTypeName::UnsignedShort,
        "signed" | "int32_t" => CTypeName::Int,
        "unsigned" | "uint32_t" | "uint" => CTypeName::UnsignedInt,
        "signed long" => CTypeName::Long,
        "ulong" => CTypeName::UnsignedLong,
        "signed long long" | "int64_t" | "ssize_t" | "ptrdiff_t" | "intptr_t" => CTypeName::LongLong,
        // Eight bytes on every 64-bit platform, which `unsigned long` is not.
        "size_t" | "uint64_t" | "uintptr_t" | "ulonglong" => CTypeName::UnsignedLongLong,
        joined => match CTypeName::from_name(joined) {
            Some(name) => name,
            None => {
                return Spelling::Unknown(
                    misspelt(joined, CTypeName::ALL.map(CTypeName::as_str)).and_then(CTypeName::from_name),
                );
            }
        },
    };
    Spelling::Alias(name, stars == 1)
}
