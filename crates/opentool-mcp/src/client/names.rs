//! Names of tools that every caller can use: [`unique_names`].

use std::collections::{HashMap, HashSet};

use opentool_core::is_tool_name;

/// How long a name may be.
const MAX: usize = 64;

/// How many characters tell names apart that would be the same.
const HASH: usize = 8;

/// Finds a name for each tool, by its place; none where two tools have the same one and cannot be told apart.
///
/// A name that can stay stays. Which name another tool gets depends on its own name only, not on the order, so that a server
/// cannot put one tool in the place of another by listing them differently.
pub(crate) fn unique_names(prefix: &str, originals: &[&str]) -> Vec<Option<String>> {
    let mut seen = HashSet::new();
    let mut cleaned = Vec::with_capacity(originals.len());
    let mut count: HashMap<String, usize> = HashMap::new();
    for original in originals {
        let full = format!("{prefix}{original}");
        let name = seen.insert(*original).then(|| clean(&full));
        if let Some(name) = &name {
            *count.entry(name.clone()).or_default() += 1;
        }
        cleaned.push(name.map(|name| (is_tool_name(&full), name)));
    }
    let mut taken = HashSet::new();
    let mut names: Vec<Option<String>> = cleaned
        .iter()
        .map(|entry| entry.as_ref().filter(|(stays, name)| *stays || count.get(name) == Some(&1)))
        .map(|entry| entry.map(|(_, name)| name.clone()).filter(|name| taken.insert(name.clone())))
        .collect();
    for ((name, entry), original) in names.iter_mut().zip(&cleaned).zip(originals) {
        if let (None, Some((_, cleaned))) = (&name, entry) {
            *name = Some(with_hash(cleaned, original)).filter(|name| taken.insert(name.clone()));
        }
    }
    names
}

/// Replaces what no name may have, and shortens.
fn clean(name: &str) -> String {
    let allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    let cleaned: String = name.chars().map(|char| if allowed(char) { char } else { '_' }).collect();
    match cleaned.len() {
        0 => "tool".to_owned(),
        1..=MAX => cleaned,
        _ => with_hash(&cleaned, name),
    }
}

/// A name with a hash of the original at its end.
fn with_hash(cleaned: &str, original: &str) -> String {
    let end = cleaned.len().min(MAX - HASH - 1);
    let hash = original
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{}_{:08x}", &cleaned[..end], (hash ^ (hash >> 32)) as u32)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn names(prefix: &str, originals: &[&str]) -> Vec<String> {
        unique_names(prefix, originals).into_iter().map(Option::unwrap).collect()
    }

    #[test]
    fn a_name_that_can_stay_stays() {
        assert_eq!(names("", &["add", "get-sum"]), ["add", "get-sum"]);
        assert_eq!(names("files_", &["read", "a.b/c"]), ["files_read", "files_a_b_c"]);
        assert_eq!(names("", &["größe", ""]), ["gr__e", "tool"]);
    }

    #[test]
    fn every_name_is_a_tool_name_and_unique_in_any_order() {
        let long = ["x".repeat(128), "x".repeat(127), format!("{}.", "x".repeat(127))];
        let mut originals = vec!["a.b", "a_b", "a/b", &long[0], &long[1], &long[2]];
        let mut first = names("p_", &originals);
        assert!(first.iter().all(|name| is_tool_name(name)), "{first:?}");
        assert_eq!(first[1], "p_a_b");
        let distinct: HashSet<_> = first.iter().collect();
        assert_eq!(distinct.len(), originals.len());
        originals.reverse();
        let reversed = names("p_", &originals);
        first.reverse();
        assert_eq!(reversed, first);
    }

    #[test]
    fn two_tools_of_one_name_cannot_be_told_apart() {
        assert_eq!(unique_names("", &["a", "b", "a"]), [Some("a".to_owned()), Some("b".to_owned()), None]);
    }
}
