//! States as signed texts, for storage that others can write: [`StateSigner`].

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hmac_sha256::HMAC;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::Turn;
use crate::hexadecimal::hexadecimal;

/// What a signed text begins with.
const FORMAT: &str = "opentool-signed-1";
/// How many bytes a key has at least: as many as a signature.
const MIN_KEY: usize = 32;

/// A state that can be signed.
pub trait SignableState: Serialize + DeserializeOwned {
    /// What it is. A text that was signed as one kind is never read as another.
    const KIND: &'static str;
}

impl SignableState for Turn {
    const KIND: &'static str = "opentool.turn";
}

/// Writes states such as a [`Turn`] as signed texts, and reads them back only as they were written.
///
/// The text of a state is as powerful as an approval: a person who can change it can approve a call, change its arguments and
/// reset the limits. Where it is stored so that others can write it (a cookie, a form field, a queue, a table of another
/// team), sign it. The signature is an HMAC-SHA-256 over the text, what kind of state it is, until when it is valid, and what
/// it is bound to: name there the user and the conversation, so that the text of one cannot be used for another.
///
/// ```
/// use std::time::Duration;
/// use opentool_core::{StateSigner, Turn};
///
/// # let secret = [7; 32];
/// # let turn = Turn::new();
/// let signer = StateSigner::new(secret)?;                                 // 32 random bytes or more
/// let stored = signer.sign(&turn, "ann/conversation-7/step-3", Duration::from_secs(24 * 60 * 60))?;
///
/// let turn: Turn = signer.verify(&stored, "ann/conversation-7/step-3")?;
/// assert!(signer.verify::<Turn>(&stored, "bob/conversation-7/step-3").is_err());
/// assert!(signer.verify::<Turn>(&stored.replace('0', "1"), "ann/conversation-7/step-3").is_err());
/// # let _ = turn;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A signature does not hide the text, and until it has expired the same text can be used again: where a run must be resumed
/// only once, bind it to something that changes with every step, as `step-3` above.
#[derive(Clone)]
pub struct StateSigner {
    key: HMAC,
    /// Keys that sign no longer and are still accepted.
    old: Vec<HMAC>,
}

/// A key that is too short to sign with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a key to sign with needs at least {MIN_KEY} bytes, this one has {length}")]
pub struct ShortSigningKey {
    length: usize,
}

/// Why a signed text was refused.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SignedStateError {
    /// It is no signed text.
    #[error("it is no signed state")]
    Malformed,
    /// It was changed, or signed with another key, as another kind of state, or bound to something else.
    #[error("the signature of the state is not valid")]
    Forged,
    /// It was valid and is not any more.
    #[error("the signed state has expired")]
    Expired,
    /// What was signed is no such state; another version of the program may have written it.
    #[error("the signed state cannot be read: {source}")]
    Unreadable {
        /// Why.
        source: serde_json::Error,
    },
}

impl StateSigner {
    /// Makes a signer of a secret key: at least 32 bytes, random and not used for anything else.
    ///
    /// # Errors
    ///
    /// Where the key is shorter.
    pub fn new(key: impl AsRef<[u8]>) -> Result<Self, ShortSigningKey> {
        Ok(Self { key: mac(key.as_ref())?, old: Vec::new() })
    }

    /// Adds a key that signs no longer, whose texts are accepted until they expire.
    ///
    /// # Errors
    ///
    /// Where the key is shorter than 32 bytes.
    pub fn with_old_key(mut self, key: impl AsRef<[u8]>) -> Result<Self, ShortSigningKey> {
        self.old.push(mac(key.as_ref())?);
        Ok(self)
    }

    /// Writes a state, bound to a text that is needed to read it and is not in it, and valid for some time.
    ///
    /// # Errors
    ///
    /// Where the state cannot be written as JSON.
    pub fn sign<S: SignableState>(
        &self,
        state: &S,
        bound_to: &str,
        valid_for: Duration,
    ) -> Result<String, serde_json::Error> {
        let expires = now().saturating_add(valid_for.as_secs());
        let json = serde_json::to_string(state)?;
        let signature = hexadecimal(&message::<S>(&self.key, bound_to, expires, &json).finalize());
        Ok(format!("{FORMAT}:{expires}:{signature}:{json}"))
    }

    /// Reads a state that was signed with this key and bound to the same text.
    ///
    /// Signatures are compared in constant time, and nothing else of a text is looked at before its signature is right.
    ///
    /// # Errors
    ///
    /// Where the text is not as it was signed, or has expired.
    pub fn verify<S: SignableState>(&self, text: &str, bound_to: &str) -> Result<S, SignedStateError> {
        let (expires, signature, json) = parts(text).ok_or(SignedStateError::Malformed)?;
        let is_right = |key: &HMAC| message::<S>(key, bound_to, expires, json).finalize_verify(&signature);
        if !std::iter::once(&self.key).chain(&self.old).any(is_right) {
            return Err(SignedStateError::Forged);
        }
        if expires <= now() {
            return Err(SignedStateError::Expired);
        }
        serde_json::from_str(json).map_err(|source| SignedStateError::Unreadable { source })
    }
}

/// Shows nothing of the keys.
impl fmt::Debug for StateSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateSigner").finish_non_exhaustive()
    }
}

fn mac(key: &[u8]) -> Result<HMAC, ShortSigningKey> {
    if key.len() < MIN_KEY {
        return Err(ShortSigningKey { length: key.len() });
    }
    Ok(HMAC::new(key))
}

/// What is signed: each part with its length before it, so that no two sets of parts are the same bytes.
fn message<S: SignableState>(key: &HMAC, bound_to: &str, expires: u64, json: &str) -> HMAC {
    let mut message = key.clone();
    for part in [FORMAT.as_bytes(), S::KIND.as_bytes(), bound_to.as_bytes(), &expires.to_be_bytes(), json.as_bytes()] {
        message.update((part.len() as u64).to_be_bytes());
        message.update(part);
    }
    message
}

/// The time of expiry, the signature and the JSON of a signed text.
fn parts(text: &str) -> Option<(u64, [u8; 32], &str)> {
    let rest = text.strip_prefix(FORMAT)?.strip_prefix(':')?;
    let (expires, rest) = rest.split_once(':')?;
    let (signature, json) = rest.split_once(':')?;
    Some((expires.parse().ok()?, bytes(signature)?, json))
}

/// The bytes of a hexadecimal signature.
fn bytes(hex: &str) -> Option<[u8; 32]> {
    let digits = hex.as_bytes();
    let mut bytes = [0; 32];
    if digits.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? * 16 + digit(pair[1])?;
    }
    Some(bytes)
}

fn digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// The seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
