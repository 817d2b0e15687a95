//! The digest of arguments that mean the same: without layout, with the members of objects in one order.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hmac_sha256::Hash;
use opentool_spec::json::{Lexer, MAX_DEPTH};
use serde_json::value::RawValue;

/// Hashes a JSON text. Numbers count by their digits, so that no integer is rounded.
///
/// A text that is no JSON, or is nested deeper than checked arguments can be, is hashed as it stands.
pub(super) fn digest(json: &str) -> [u8; 32] {
    let mut hash = Hash::new();
    let parsed = serde_json::from_str::<&RawValue>(json);
    if !parsed.is_ok_and(|value| write(&mut hash, value.get(), MAX_DEPTH + 1).is_some()) {
        hash = Hash::new();
        part(&mut hash, b't', json.as_bytes());
    }
    hash.finalize()
}

/// Adds a value; none where it is nested too deep.
fn write(hash: &mut Hash, json: &str, depth: usize) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    match json.as_bytes().first()? {
        b'{' => {
            let members: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(json).ok()?;
            part(hash, b'{', &(members.len() as u64).to_be_bytes());
            for (name, value) in &members {
                part(hash, b'n', name.as_bytes());
                write(hash, value.get(), depth)?;
            }
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
            part(hash, b'[', &(items.len() as u64).to_be_bytes());
            for item in items {
                write(hash, item.get(), depth)?;
            }
        }
        b'"' => part(hash, b's', Lexer::new(json).string().ok()?.decode().as_bytes()),
        _ => part(hash, b'w', json.as_bytes()),
    }
    Some(())
}

/// Adds a part with its kind and length before it, so that no two lists of parts are the same bytes.
pub(super) fn part(hash: &mut Hash, kind: u8, bytes: &[u8]) {
    hash.update([kind]);
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_and_order_do_not_count_and_everything_else_does() {
        let same = [r#"{"a":1,"b":[true,"x"]}"#, r#" { "b" : [ true , "\u0078" ] , "a" : 1 } "#];
        assert_eq!(digest(same[0]), digest(same[1]));
        let others = [
            r#"{"a":1,"b":["x",true]}"#,
            r#"{"a":1.0,"b":[true,"x"]}"#,
            r#"{"a":"1","b":[true,"x"]}"#,
            r#"{"a":1}"#,
            "{}",
            "[]",
            "no JSON",
        ];
        for (index, other) in others.iter().enumerate() {
            assert_ne!(digest(same[0]), digest(other), "{other}");
            for later in &others[index + 1..] {
                assert_ne!(digest(other), digest(later), "{other} {later}");
            }
        }
    }

    #[test]
    fn large_integers_are_not_rounded() {
        assert_ne!(digest("[12345678901234567890123]"), digest("[12345678901234567890124]"));
    }

    #[test]
    fn deep_texts_cost_no_stack() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_ne!(digest(&deep), digest(&deep[1..deep.len() - 1]));
    }
}
