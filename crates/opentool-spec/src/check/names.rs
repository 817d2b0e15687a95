//! Names of functions and parameters.

use std::borrow::Cow;

use foldhash::HashMap;

use crate::tree::NodeId;

/// The longest name a function may have.
pub(super) const LONGEST_NAME: usize = 64;

/// Whether a function may have this name: 1 to 64 of `a-z`, `A-Z`, `0-9`, `-` and `_`.
///
/// ```
/// assert!(opentool_spec::is_valid_name("get-weather_2"));
/// assert!(!opentool_spec::is_valid_name("get weather"));
/// ```
pub fn is_valid_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// The names of functions, or of one function's parameters, with the first that has each.
pub(super) type Names<'a> = HashMap<Cow<'a, str>, NodeId>;

/// A name that no element of the list has yet, made of a base and the element's index.
pub(super) fn unused_name(names: &Names<'_>, base: &str, index: usize) -> String {
    let suffix = format!("_{}", index + 1);
    let kept: String = base.chars().take(LONGEST_NAME - 8 - suffix.len()).collect();
    let mut name = format!("{kept}{suffix}");
    while names.contains_key(&*name) && name.len() < LONGEST_NAME {
        name.push('_');
    }
    name
}

/// The valid name nearest to an invalid one.
pub(super) fn valid_name(names: &Names<'_>, name: &str, index: usize) -> String {
    let kept: String = name
        .trim()
        .chars()
        .map(|char| if char.is_ascii_alphanumeric() || char == '-' { char } else { '_' })
        .take(LONGEST_NAME)
        .collect();
    let kept = kept.trim_matches('_').to_owned();
    if kept.bytes().any(|byte| byte.is_ascii_alphanumeric()) && !names.contains_key(&*kept) {
        kept
    } else {
        unused_name(names, "function", index)
    }
}
