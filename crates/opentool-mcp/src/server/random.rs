//! Names that cannot be guessed.

use std::fmt::Write as _;

/// How many random bytes a name has.
const BYTES: usize = 24;

/// Makes a name of visible ASCII characters; none where the system has no random bytes.
pub(crate) fn name() -> Option<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).ok()?;
    let mut name = String::with_capacity(2 * BYTES);
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(name, "{byte:02x}");
    }
    Some(name)
}
