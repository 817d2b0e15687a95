//! What tells one recorded call from another: [`CallKey`].

use std::fmt;
use std::sync::Arc;

use hmac_sha256::Hash;

use super::canonical::{digest, part};
use crate::Arguments;
use crate::hexadecimal::hexadecimal;

/// How many bytes a key may have on the wire.
const MAX_KEY: usize = 255;

/// What makes a call this one and no other: its run, its place in the run, its tool, and its arguments as run.
///
/// It is the same for every attempt of the call, in every process. Written as text it is what a tool sends to a system that
/// takes idempotency keys: at most 255 visible ASCII characters.
///
/// ```
/// use opentool_core::{Arguments, CallKey};
///
/// let key = CallKey::new("r1", "2.0", "transfer", &Arguments::from(r#"{"to":"ann","cents":100}"#));
/// let same = CallKey::new("r1", "2.0", "transfer", &Arguments::from(r#"{ "cents": 100, "to": "ann" }"#));
/// assert_eq!(key, same);
/// assert!(key.to_string().starts_with("r1/2.0/transfer/"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CallKey {
    /// The run that the call belongs to.
    pub run: Arc<str>,
    /// The place of the call in its run.
    pub place: Arc<str>,
    /// The tool, by the name under which it is called.
    pub tool: Arc<str>,
    /// The hash of the arguments, which does not depend on their layout or the order of their members.
    pub arguments_hash: Arc<str>,
}

impl CallKey {
    /// Makes the key of a call.
    #[must_use]
    pub fn new(
        run: impl Into<Arc<str>>,
        place: impl Into<Arc<str>>,
        tool: impl Into<Arc<str>>,
        arguments: &Arguments,
    ) -> Self {
        let arguments_hash = hexadecimal(&digest(arguments.as_str())[..16]).into();
        Self { run: run.into(), place: place.into(), tool: tool.into(), arguments_hash }
    }

    /// Says whether a key of the same run and place is that of the same call.
    #[must_use]
    pub fn is_same_call(&self, tool: &str, arguments_hash: &str) -> bool {
        *self.tool == *tool && *self.arguments_hash == *arguments_hash
    }
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, place, tool, arguments_hash } = self;
        let parts = [run, place, tool, arguments_hash];
        let length = parts.iter().map(|part| part.len() + 1).sum::<usize>() - 1;
        if length <= MAX_KEY && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_graphic())) {
            return write!(f, "{run}/{place}/{tool}/{arguments_hash}");
        }
        write!(f, "sha256:{}", hash_of(&parts.map(|part| &**part)))
    }
}

/// The run of a call that its caller gave a key: one run for each caller, tool and key.
pub(crate) fn keyed_run(caller: &str, tool: &str, key: &str) -> String {
    format!("key-{}", &hash_of(&[caller, tool, key])[..32])
}

fn hash_of(parts: &[&str]) -> String {
    let mut hash = Hash::new();
    for text in parts {
        part(&mut hash, b'p', text.as_bytes());
    }
    hexadecimal(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_fits_into_a_header_whatever_its_parts_are() {
        let plain = CallKey::new("r1", "1.0", "add", &Arguments::none());
        assert_eq!(plain.to_string().split('/').count(), 4);
        for tool in ["a".repeat(300), "naïve".to_owned(), "a b".to_owned()] {
            let text = CallKey::new("r1", "1.0", tool, &Arguments::none()).to_string();
            assert!(text.len() <= MAX_KEY && text.bytes().all(|byte| byte.is_ascii_graphic()), "{text}");
            assert!(text.starts_with("sha256:"));
        }
    }

    #[test]
    fn the_longest_key_is_still_plain() {
        let of_length = |length: usize| {
            let rest = CallKey::new("r1", "1.0", "", &Arguments::none()).to_string().len();
            CallKey::new("r1", "1.0", "a".repeat(length - rest), &Arguments::none()).to_string()
        };
        let longest = of_length(MAX_KEY);
        assert!(longest.starts_with("r1/1.0/aaa") && longest.len() == MAX_KEY, "{longest}");
        assert!(of_length(MAX_KEY + 1).starts_with("sha256:"));
    }

    /// Computed with Python's `hashlib`: what a journal has on disk is found by every later version.
    #[test]
    fn keys_are_the_same_in_every_version() {
        let key = CallKey::new("r1", "2.0", "pay", &Arguments::from(r#"{"to": "ann", "cents": 100}"#));
        assert_eq!(&*key.arguments_hash, "74df4a40adf01db504aee4092a0ec813");
        assert_eq!(keyed_run("ann", "pay", "k"), "key-fe0cf0fcd8e0888c61decc90849a2f5d");
    }

    #[test]
    fn keys_of_callers_and_tools_are_apart() {
        let runs =
            [("ann", "pay", "k"), ("bob", "pay", "k"), ("ann", "send", "k"), ("an", "npay", "k"), ("ann", "pay", "l")];
        let mut seen: Vec<_> = runs.iter().map(|(caller, tool, key)| keyed_run(caller, tool, key)).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), runs.len());
        assert_eq!(keyed_run("ann", "pay", "k"), keyed_run("ann", "pay", "k"));
    }
}
