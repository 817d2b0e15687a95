//! Whether files have changed: [`Fingerprints`].

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Files, and what they looked like.
///
/// They are compared by time, length and identity, which works on every file system and needs no watcher of the system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fingerprints(BTreeMap<PathBuf, Option<Fingerprint>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Fingerprint {
    modified: Option<SystemTime>,
    length: u64,
    identity: u64,
}

impl Fingerprint {
    /// None where the file is not there.
    fn take(file: &Path) -> Option<Self> {
        let metadata = fs::metadata(file).ok()?;
        #[cfg(unix)]
        let identity = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let identity = 0;
        Some(Fingerprint { modified: metadata.modified().ok(), length: metadata.len(), identity })
    }
}

impl Fingerprints {
    /// Looks at a file, unless that was done already; returns what it looks like, for comparison.
    pub(super) fn add(&mut self, file: &Path) -> String {
        let seen = self.0.entry(file.to_owned()).or_insert_with(|| Fingerprint::take(file));
        format!("{seen:?}")
    }

    /// Looks at the same files again.
    pub(super) fn again(&self) -> Self {
        Fingerprints(self.0.keys().map(|file| (file.clone(), Fingerprint::take(file))).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_file_that_changes_appears_or_goes_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&file, "one").unwrap();
        let mut seen = Fingerprints::default();
        seen.add(&file);
        seen.add(&other);
        assert_eq!(seen.again(), seen);
        fs::write(&file, "three").unwrap();
        let changed = seen.again();
        assert_ne!(changed, seen);
        fs::write(&other, "").unwrap();
        assert_ne!(changed.again(), changed);
        let both = changed.again();
        // Replaced by another file of the same length, as editors do.
        fs::write(folder.path().join("c"), "3hree").unwrap();
        fs::rename(folder.path().join("c"), &file).unwrap();
        assert_ne!(both.again(), both);
        fs::remove_file(&other).unwrap();
        assert_ne!(both.again(), both);
    }
}
