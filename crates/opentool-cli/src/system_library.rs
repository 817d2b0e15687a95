//! C libraries that the system has.

use opentool_dyn::{Exports, find_library};

/// Whether a name stands for a library that can be read: `libm.so` may be a script for the linker, which is none.
pub(crate) fn can_read(name: &str) -> bool {
    find_library(name).is_ok_and(|path| Exports::read(path).is_ok())
}

/// The name of a library that the system has, from what it is called without its end: `libm.so.6` for `libm`.
pub(crate) fn find(stem: &str) -> Option<String> {
    let (plain, versioned) = (format!("{stem}.so"), format!("{stem}.so.0"));
    if let Some(name) = [&plain, &versioned].into_iter().find(|name| can_read(name)) {
        return Some(name.clone());
    }
    let error = find_library(&versioned).err()?;
    let is_version = |name: &&String| name.starts_with(&format!("{plain}.")) && can_read(name);
    error.near().iter().find(is_version).cloned()
}
