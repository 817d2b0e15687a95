//! The names most like one that is not there.

use opentool_spec::json::near::{self, Distance};

use super::symbol::Export;

/// How many names are worth showing.
const SHOWN: usize = 3;

pub(super) fn names<'e>(wanted: &str, exports: impl Iterator<Item = &'e Export>) -> Vec<&'e str> {
    if wanted.is_empty() {
        return Vec::new();
    }
    // A mangled name of C++ has the plain one in it, after its length.
    let mangled = format!("{}{wanted}", wanted.len());
    let (cpp, plain): (Vec<&str>, Vec<&str>) =
        exports.map(|export| export.name.as_str()).partition(|name| name.starts_with("_Z"));
    let mut found = near::ranked(wanted, plain, |name| name);
    found.extend(cpp.into_iter().filter(|name| name.contains(&mangled)).map(|name| (Distance::Spelling(0), name)));
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(SHOWN).map(|(_, name)| name).collect()
}
