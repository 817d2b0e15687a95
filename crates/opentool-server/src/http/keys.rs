//! API keys: named, several, compared in constant time.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use subtle::ConstantTimeEq;

use super::headers::HeaderValues;
use crate::file::{FileError, WatchedFiles};

/// How many characters a key of a file has at least.
const MIN_LENGTH: usize = 8;

/// A key and the name under which logs show it.
#[derive(Clone)]
pub(crate) struct ApiKey {
    pub(crate) name: Arc<str>,
    secret: Box<str>,
}

/// Why a key cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// There is no text.
    #[error("is empty")]
    Empty,
    /// A key of a file is so short that it could be guessed, or is a part of one.
    #[error("has fewer than {MIN_LENGTH} characters")]
    Short,
    /// A header cannot carry it, or could not be distinguished from a scheme and a key.
    #[error("has a character that is no visible ASCII one")]
    Character,
}

impl ApiKey {
    pub(crate) fn new(name: impl Into<Arc<str>>, secret: &str) -> Result<Self, KeyError> {
        if secret.is_empty() {
            return Err(KeyError::Empty);
        }
        if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(KeyError::Character);
        }
        Ok(Self { name: name.into(), secret: secret.into() })
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ApiKey").field(&self.name).finish()
    }
}

/// The keys that callers may use.
pub(crate) struct KeyRing {
    fixed: Vec<ApiKey>,
    file: Option<WatchedFiles<Vec<ApiKey>>>,
}

impl KeyRing {
    pub(crate) fn new(fixed: Vec<ApiKey>, file: Option<PathBuf>) -> Result<Self, FileError> {
        let file = match file {
            None => None,
            Some(path) => {
                let watched = WatchedFiles::new(vec![path.clone()], |paths| read_file(&paths[0]))?.if_missing(Vec::new);
                if watched.get().is_empty() {
                    return Err(FileError::new(path, "it holds no key; write one `name:key` a line"));
                }
                Some(watched)
            }
        };
        Ok(Self { fixed, file })
    }

    /// Reads the file of keys again, whether or not it seems to have changed.
    pub(crate) fn reload(&self) -> Result<(), FileError> {
        self.file.as_ref().map_or(Ok(()), WatchedFiles::reload)
    }

    /// Returns the name of the key that a request carries; none where it has no valid key, or several.
    pub(crate) fn find_name(&self, authorization: HeaderValues<'_>) -> Option<Arc<str>> {
        self.find_secret(without_scheme(authorization.only()?.as_bytes().trim_ascii()))
    }

    pub(crate) fn has_name(&self, name: &str) -> bool {
        let is_named = |key: &ApiKey| *key.name == *name;
        self.fixed.iter().any(is_named) || self.file.as_ref().is_some_and(|file| file.get().iter().any(is_named))
    }

    /// Returns the name of a key.
    pub(crate) fn find_secret(&self, given: &[u8]) -> Option<Arc<str>> {
        // Every key is compared, so that the time does not reveal which one came close.
        let mut name = find(&self.fixed, given);
        if let Some(file) = &self.file {
            name = name.or(find(&file.get(), given));
        }
        name
    }
}

fn find(keys: &[ApiKey], given: &[u8]) -> Option<Arc<str>> {
    let mut found = None;
    for key in keys {
        if bool::from(key.secret.as_bytes().ct_eq(given)) {
            found = Some(key);
        }
    }
    found.map(|key| key.name.clone())
}

/// `Bearer KEY`, or the bare key as some clients send it; a key has no spaces, so the two differ.
fn without_scheme(given: &[u8]) -> &[u8] {
    const SCHEME: &[u8] = b"bearer ";
    match given.split_at_checked(SCHEME.len()) {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case(SCHEME) => key.trim_ascii_start(),
        _ => given,
    }
}

/// Reads `name:key` lines. Blank lines and lines that begin with `#` are skipped.
///
/// A file without keys is no error here: emptied or deleted while the server runs, it admits no caller any more.
fn read_file(path: &Path) -> Result<Vec<ApiKey>, FileError> {
    let text = fs::read_to_string(path).map_err(|error| FileError::io(path, &error))?;
    let mut keys = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at = |problem: &str| FileError::new(path, format!("line {}: {problem}", index + 1));
        let (name, secret) = line.split_once(':').ok_or_else(|| at("it is not `name:key`"))?;
        let (name, secret) = (name.trim(), secret.trim());
        if name.is_empty() {
            return Err(at("the key has no name"));
        }
        let key = match ApiKey::new(name, secret) {
            Ok(_) if secret.len() < MIN_LENGTH => Err(KeyError::Short),
            key => key,
        };
        keys.push(key.map_err(|error| at(&format!("the key of `{name}` {error}")))?);
    }
    Ok(keys)
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = f.debug_list();
        names.entries(&self.fixed);
        if let Some(file) = &self.file {
            names.entries(file.get().iter());
        }
        names.finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use http::header::{AUTHORIZATION, HeaderMap};

    use super::super::headers::{KnownHeader, RequestHeaders};
    use super::*;

    fn admitted(ring: &KeyRing, header: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, header.parse().unwrap());
        ring.find_name(RequestHeaders::new(&headers).get(KnownHeader::Authorization)).map(|name| name.to_string())
    }

    #[test]
    fn a_key_may_stand_bare_or_after_bearer_in_any_case() {
        let ring =
            KeyRing::new(vec![ApiKey::new("a", "one").unwrap(), ApiKey::new("b", "two").unwrap()], None).unwrap();
        for header in ["two", "Bearer two", "bearer two", "BEARER   two", " two "] {
            assert_eq!(admitted(&ring, header).as_deref(), Some("b"), "{header}");
        }
        for header in ["", "Bearer", "Bearer ", "Basic two", "tw", "twoo", "one two", "Bearer bearer two"] {
            assert_eq!(admitted(&ring, header), None, "{header}");
        }
    }

    #[test]
    fn errors_in_a_key_file_never_show_a_key() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys");
        for (text, problem) in [
            ("ci:one-two-three\nplanted-secret\n", "line 2: it is not `name:key`"),
            ("# keys\n\n:planted-secret", "line 3: the key has no name"),
            ("ci:planted secret", "line 1: the key of `ci` has a character that is no visible ASCII one"),
            ("ci:", "line 1: the key of `ci` is empty"),
            ("ci:one-two-three\nops:planted", "line 2: the key of `ops` has fewer than 8 characters"),
            ("# nothing", "it holds no key; write one `name:key` a line"),
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(KeyRing::new(vec![], Some(path.clone())).unwrap_err().problem, problem);
        }
    }

    #[test]
    fn debug_shows_names_only() {
        let ring = KeyRing::new(vec![ApiKey::new("ci", "planted-secret").unwrap()], None).unwrap();
        assert_eq!(format!("{ring:?}"), r#"[ApiKey("ci")]"#);
    }
}
