//! Secrets that cannot be guessed: [`Secret`].

use std::fmt;
use std::fmt::Write as _;

use subtle::ConstantTimeEq as _;

/// 256 random bits, as hexadecimal text. `Debug` does not show them.
#[derive(Clone)]
pub(crate) struct Secret(Box<str>);

impl Secret {
    const BYTES: usize = 32;

    /// Makes a secret; none where the system has no random bytes.
    pub(crate) fn new() -> Option<Self> {
        let mut bytes = [0; Self::BYTES];
        getrandom::fill(&mut bytes).ok()?;
        let mut text = String::with_capacity(2 * Self::BYTES);
        for byte in bytes {
            // Writing to a string does not fail.
            let _ = write!(text, "{byte:02x}");
        }
        Some(Self(text.into()))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Compares in a time that does not depend on where the texts differ.
    pub(crate) fn matches(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn secrets_have_256_bits_and_are_not_shown() {
        let (one, other) = (Secret::new().unwrap(), Secret::new().unwrap());
        assert_eq!(one.expose().len(), 64);
        assert!(one.matches(one.expose()) && !one.matches(other.expose()) && !one.matches(""));
        assert!(!one.matches(&one.expose()[..63]));
        assert_eq!(format!("{one:?}"), "Secret");
    }
}
