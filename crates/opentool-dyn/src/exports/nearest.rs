//! The names most like one that is not there.

use super::symbol::Export;

/// How many names are worth saying.
const SHOWN: usize = 3;
/// Names longer than this are not compared: such a name is not a misspelling.
const LONGEST: usize = 128;

pub(super) fn names<'e>(wanted: &str, exports: impl Iterator<Item = &'e Export>) -> Vec<&'e str> {
    if wanted.is_empty() || wanted.len() > LONGEST {
        return Vec::new();
    }
    let limit = (wanted.len() / 3).clamp(1, 4);
    let letters = letters(wanted);
    let mangled = format!("{}{wanted}", wanted.len());
    let mut found: Vec<(usize, &str)> = exports
        .filter_map(|export| {
            let name = export.name.as_str();
            if name.len() > LONGEST {
                return None;
            }
            if name.starts_with("_Z") {
                return (name.contains(&mangled)).then_some((0, name));
            }
            // Two cheap lower bounds of the distance; a large library has tens of thousands of names.
            if name.len().abs_diff(wanted.len()) <= limit
                && (self::letters(name) ^ letters).count_ones() as usize <= 2 * limit
            {
                let distance = strsim::damerau_levenshtein(wanted, name);
                if distance <= limit {
                    return Some((distance, name));
                }
            }
            // `open` for `sqlite3_open`, and `_add` for `add`.
            let (long, short) = if name.len() > wanted.len() { (name, wanted) } else { (wanted, name) };
            let joined = long.ends_with(short) && long[..long.len() - short.len()].ends_with('_');
            (joined && short.len() >= 3).then_some((limit + 1, name))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(SHOWN).map(|(_, name)| name).collect()
}

/// The set of bytes that occur in a name, folded into 64 bits: one edit changes at most two of them.
fn letters(name: &str) -> u64 {
    name.bytes().fold(0, |set, byte| set | 1 << (byte & 63))
}
