//! Writing files atomically: a reader sees the old or the new content.

use std::{
    fs::{self, Permissions},
    io::{self, Write as _},
    path::Path,
};

use tempfile::NamedTempFile;

use crate::failure::Failure;

/// Writes a file in one step, in place of the old one if there is one, whose permissions it keeps.
pub(crate) fn replace_file(path: &Path, text: &str) -> Result<(), Failure> {
    replace(path, text).map_err(|source| unwritten(path, source))
}

/// Writes a file in one step that only its owner can read and write.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    let write = || {
        // Where nothing else is said, a temporary file is its owner's only.
        let temporary = tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder_of(path))?;
        put(temporary, text, path)
    };
    write().map_err(|source| unwritten(path, source))
}

/// What the names of temporary files begin with.
const PREFIX: &str = ".opentool-";

fn unwritten(path: &Path, source: io::Error) -> Failure {
    Failure::Write { name: path.to_string_lossy().into_owned(), source }
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A symbolic link is kept: the file it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        // A pipe or a device is written to, never replaced; a folder says so itself.
        return fs::write(&target, text);
    }
    let old = old.map(|old| old.permissions());
    if old.as_ref().is_some_and(Permissions::readonly) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    put(temporary_in(folder_of(&target), old)?, text, &target)
}

/// Writes the text to the temporary file, and moves that to its place.
fn put(mut temporary: NamedTempFile, text: &str, target: &Path) -> io::Result<()> {
    temporary.write_all(text.as_bytes())?;
    temporary.as_file().sync_all()?;
    temporary.persist(target)?;
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// An empty temporary file that already has its last permissions: those of the old file, or those that any new file of the
/// user gets. Given later, they would leave a moment in which others can read what they must not.
fn temporary_in(folder: &Path, old: Option<Permissions>) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    match old {
        Some(permissions) => {
            let temporary = builder.tempfile_in(folder)?;
            temporary.as_file().set_permissions(permissions)?;
            Ok(temporary)
        }
        None => {
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
            builder.tempfile_in(folder)
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_mode_is_set_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        for mode in [0o600, 0o640, 0o604] {
            let temporary = temporary_in(folder.path(), Some(Permissions::from_mode(mode))).unwrap();
            let metadata = temporary.as_file().metadata().unwrap();
            assert_eq!((metadata.permissions().mode() & 0o777, metadata.len()), (mode, 0));
        }
    }

    #[test]
    fn a_private_file_is_its_owners_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        for text in ["one", "two"] {
            write_private(&path, text).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}
