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
    replace(path, text).map_err(|source| Failure::Write { name: path.to_string_lossy().into_owned(), source })
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
    let folder = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temporary = temporary_in(folder)?;
    temporary.write_all(text.as_bytes())?;
    if let Some(permissions) = old {
        temporary.as_file().set_permissions(permissions)?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(&target)?;
    Ok(())
}

/// A temporary file with the permissions that any new file of the user gets.
fn temporary_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".opentool-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}
