//! Functions that do the same with arrays of several types: `put_int(where, const int *values)` beside `put_text`.

use std::collections::HashMap;

use crate::ctype::Signature;
use crate::declarations::Prototype;
use crate::words;

/// What names call numbers of a type.
const NUMBERS: [&str; 26] = [
    "int",
    "uint",
    "short",
    "ushort",
    "long",
    "ulong",
    "longlong",
    "ulonglong",
    "float",
    "double",
    "real",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "i16",
    "i32",
    "i64",
    "u32",
    "u64",
    "f32",
    "f64",
];
/// What names call texts that end by themselves, whatever the others of the family take.
const STRINGS: [&str; 3] = ["string", "str", "cstr"];

/// The functions that take numbers behind a pointer and name their type, by all else that is said of them.
#[derive(Debug, Default)]
pub(crate) struct Families {
    takes_numbers: HashMap<String, String>,
}

impl Families {
    pub(crate) fn find(functions: &[&Prototype]) -> Self {
        let mut families = Self::default();
        for Prototype { name, signature, .. } in functions {
            let own = words::split(name);
            let types = own.iter().enumerate().filter(|(_, word)| NUMBERS.contains(&word.as_str()));
            for at in types.map(|(at, _)| at) {
                let numbers = (0..signature.parameters.len()).filter(|index| {
                    let target = signature.parameters[*index].1.pointee();
                    target.is_some_and(|target| target.is_const && !target.is_bytes() && target.scalar().is_some())
                });
                for index in numbers {
                    families.takes_numbers.entry(key(&own, at, signature, index)).or_insert_with(|| name.clone());
                }
            }
        }
        families
    }

    /// The function that takes numbers where another one takes what is taken for a text, and differs in nothing else.
    pub(crate) fn sibling(&self, function: &str, signature: &Signature, index: usize) -> Option<&str> {
        let own = words::split(function);
        (0..own.len())
            .filter(|at| !STRINGS.contains(&own[*at].as_str()))
            .find_map(|at| self.takes_numbers.get(&key(&own, at, signature, index)))
            .map(String::as_str)
    }
}

/// A function without one word of its name and one of its types.
fn key(own: &[String], without_word: usize, signature: &Signature, without_type: usize) -> String {
    let mut key: Vec<String> = own
        .iter()
        .enumerate()
        .map(|(at, word)| if at == without_word { String::new() } else { word.clone() })
        .collect();
    key.push(signature.returns.declare(""));
    key.extend(signature.parameters.iter().enumerate().map(|(index, (name, kind))| match name {
        Some(name) if index == without_type => name.clone(),
        _ if index == without_type => String::new(),
        _ => kind.declare(""),
    }));
    key.join(" ")
}
