//! Which parameters count others.

use crate::ctype::Type;
use crate::draft::FunctionDraft;

/// What the names of parameters have in them that count something.
pub(crate) const LENGTHS: [&str; 8] = ["len", "size", "byte", "count", "cap", "max", "num", "sz"];
/// What those have in them that count the bytes of a text.
pub(crate) const LENGTHS_OF_TEXT: [&str; 3] = ["len", "size", "byte"];

/// A parameter that counts the one before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counter {
    pub(crate) index: usize,
    /// Whether it is passed by pointer.
    pub(crate) by_pointer: bool,
    /// Whether its name says that it counts; otherwise that is a guess.
    pub(crate) is_named: bool,
}

impl FunctionDraft<'_, '_> {
    /// The parameter after one, where it is its length.
    pub(crate) fn length_after(&self, index: usize, words: &[&str]) -> Option<Counter> {
        let (name, kind) = self.signature.parameters.get(index + 1)?;
        let name = name.as_deref().unwrap_or_default().trim_start_matches('_');
        let by_pointer = !kind.is_integer();
        let counted = match kind.pointee() {
            Some(target) if by_pointer => {
                Some(target).filter(|target| target.is_integer() && !target.is_const && !target.is_bytes())?
            }
            _ if by_pointer => return None,
            _ => kind.clone(),
        };
        let is_named = is_hungarian(name) || has_any(name, words);
        let is_length = is_named || name == "n" || counted.is_named(&["size_t", "ssize_t"]);
        (is_length && counted.enumeration().is_none()).then_some(Counter { index: index + 1, by_pointer, is_named })
    }

    /// Whether the parameter before one counts it and nothing else: `int argc, char **argv`.
    pub(crate) fn is_counted_before(&self, index: usize) -> bool {
        let Some((Some(name), kind)) = index.checked_sub(1).map(|before| &self.signature.parameters[before]) else {
            return false;
        };
        let counts_another = index >= 2 && self.length_after(index - 2, &LENGTHS).is_some();
        let is_named = name == "n" || is_hungarian(name) || has_any(name, &["argc", "count", "num"]);
        kind.is_integer() && is_named && !counts_another
    }

    /// The size of what is copied, where the parameter at an index is the buffer: `(into, const from, size)`.
    pub(crate) fn copied(&self, index: usize, into: &Type) -> Option<usize> {
        let from = self.signature.parameters.get(index + 1)?.1.pointee()?;
        let says_out = self.said(index + 1).and_then(|said| said.direction).is_some_and(|(_, out)| out);
        // `void` and `unsigned char` are bytes both; a text is not made of those.
        let is_alike = match (into.is_bytes(), from.is_bytes()) {
            (true, true) => into.is_text() == from.is_text(),
            (false, false) => into.scalar().is_some() && into.scalar() == from.scalar(),
            _ => false,
        };
        let counter = self.length_after(index + 1, &LENGTHS).filter(|counter| !counter.by_pointer)?;
        // Numbers would be left with one cell, which many of them overflow; bytes have a buffer in any case.
        let is_of_source = into.is_bytes() && self.is_named_after(counter.index, index + 1);
        (is_alike && from.is_const && !says_out && !is_of_source).then_some(counter.index)
    }

    /// Whether the name of one parameter begins with that of another: `key_length` of `key`.
    fn is_named_after(&self, index: usize, other: usize) -> bool {
        let [name, other] = [index, other].map(|index| self.names[index].to_lowercase());
        name.starts_with(&other)
    }
}

/// `nByte`, `n_items`: the Hungarian way.
fn is_hungarian(name: &str) -> bool {
    name.strip_prefix('n').is_some_and(|rest| rest.starts_with(|char: char| char.is_uppercase() || char == '_'))
}

fn has_any(name: &str, words: &[&str]) -> bool {
    let lower = name.to_lowercase();
    words.iter().any(|word| lower.contains(word))
}
