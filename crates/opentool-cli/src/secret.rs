//! Texts that are never shown, and where they are read from.

use std::{convert::Infallible, env, fmt, fs, path::Path, str::FromStr};

use crate::failure::Failure;

/// A text that is never shown.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: String) -> Self {
        Secret(text)
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Secret(text.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The text of a variable of the environment, without space around it; none where there is no text.
pub(crate) fn of_variable(variable: &str) -> Option<String> {
    env::var(variable).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Reads a file whose only content is a key.
pub(crate) fn of_file(file: &Path) -> Result<String, Failure> {
    let name = || file.to_string_lossy().into_owned();
    let text = fs::read_to_string(file).map_err(|source| Failure::Read { name: name(), source })?;
    match text.trim() {
        "" => Err(Failure::usage(format!("{}: there is no key in the file", name()))),
        key if key.contains(char::is_whitespace) => {
            Err(Failure::usage(format!("{}: the file has more than a key in it", name())))
        }
        key => Ok(key.to_owned()),
    }
}
