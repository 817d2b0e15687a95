//! Which configuration files the user trusts: [`TrustedFiles`].

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use hmac_sha256::Hash;

use crate::{
    failure::Failure,
    folders::{UserFolder, make_private},
    replace::write_private,
};

/// The folder of the records.
const FOLDER: &str = "trusted";

/// The files that the user trusts, by their place and content.
///
/// Each has a record of its own in the user's state folder, named after the hash of its path, with the hash of its content.
#[derive(Debug)]
pub(crate) struct TrustedFiles {
    folder: PathBuf,
}

/// Whether a file is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrustState {
    /// It is, as it stands.
    Given,
    /// It was, and then it was changed.
    Changed,
    /// It never was.
    Unknown,
}

impl TrustedFiles {
    /// The records of this user.
    pub(crate) fn for_user() -> Result<Self, Failure> {
        let folder = UserFolder::state().ok_or_else(|| {
            Failure::usage("there is no folder to record in which files are trusted: set HOME or XDG_STATE_HOME")
        })?;
        Ok(TrustedFiles { folder: folder.join(FOLDER) })
    }

    /// Says whether a file with this content is trusted.
    pub(crate) fn look_up(&self, file: &Path, content: &[u8]) -> Result<TrustState, Failure> {
        let record = self.record(file)?;
        let recorded = match fs::read_to_string(&record) {
            Ok(recorded) => recorded,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(TrustState::Unknown),
            Err(source) => return Err(Failure::Read { name: record.to_string_lossy().into_owned(), source }),
        };
        Ok(if recorded.lines().next() == Some(&hash(content)) { TrustState::Given } else { TrustState::Changed })
    }

    /// Records that a file with this content is trusted, in place of what was recorded about it before; `keys` are those of the settings
    /// that it must not lose unnoticed.
    pub(crate) fn add(&self, file: &Path, content: &[u8], keys: &[&str]) -> Result<(), Failure> {
        make_private(&self.folder)?;
        // The second line is for people who look into the folder.
        let mut text = format!("{}\n{}\n", hash(content), location(file)?.display().to_string().replace('\n', " "));
        for key in keys {
            text.push_str(key);
            text.push('\n');
        }
        write_private(&self.record(file)?, &text)
    }

    /// The keys that were recorded when a file was trusted.
    pub(crate) fn keys(&self, file: &Path) -> Result<Vec<String>, Failure> {
        let record = self.record(file)?;
        match fs::read_to_string(&record) {
            Ok(recorded) => Ok(recorded.lines().skip(2).map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(Failure::Read { name: record.to_string_lossy().into_owned(), source }),
        }
    }

    /// Records that a file is no longer trusted; says whether it was.
    pub(crate) fn remove(&self, file: &Path) -> Result<bool, Failure> {
        let record = self.record(file)?;
        match fs::remove_file(&record) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(Failure::Write { name: record.to_string_lossy().into_owned(), source }),
        }
    }

    /// The file that says whether a file is trusted.
    pub(crate) fn record(&self, file: &Path) -> Result<PathBuf, Failure> {
        Ok(self.folder.join(hash(location(file)?.as_os_str().as_encoded_bytes())))
    }
}

/// Where a file is. A link is not followed to its target: what stands in the file is about the folder that has the link.
fn location(file: &Path) -> Result<PathBuf, Failure> {
    let folder = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder)
        .map_err(|source| Failure::Read { name: folder.to_string_lossy().into_owned(), source })?;
    Ok(folder.join(file.file_name().unwrap_or_default()))
}

fn hash(bytes: &[u8]) -> String {
    Hash::hash(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_file_is_trusted_by_its_place_and_content() {
        let home = tempfile::tempdir().unwrap();
        let trusted = TrustedFiles { folder: home.path().join("state").join(FOLDER) };
        let (here, there) = (home.path().join("a.toml"), home.path().join("b.toml"));
        assert_eq!(trusted.look_up(&here, b"port = 1").unwrap(), TrustState::Unknown);
        trusted.add(&here, b"port = 1", &["api-key", "host"]).unwrap();
        assert_eq!(trusted.keys(&here).unwrap(), ["api-key", "host"]);
        assert!(trusted.keys(&there).unwrap().is_empty());
        assert_eq!(trusted.look_up(&here, b"port = 1").unwrap(), TrustState::Given);
        assert_eq!(trusted.look_up(&here, b"port = 2").unwrap(), TrustState::Changed);
        assert_eq!(trusted.look_up(&there, b"port = 1").unwrap(), TrustState::Unknown);
        trusted.add(&here, b"port = 2", &[]).unwrap();
        assert_eq!(
            trusted.look_up(&here, b"port = 1").unwrap(),
            TrustState::Changed,
            "one content is trusted at a time"
        );
        assert!(trusted.remove(&here).unwrap());
        assert!(!trusted.remove(&here).unwrap());
        assert_eq!(trusted.look_up(&here, b"port = 2").unwrap(), TrustState::Unknown);
    }
}
