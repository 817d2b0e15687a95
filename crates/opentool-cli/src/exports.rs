//! Libraries that the user names.

use opentool_dyn::{Exports, find_library};

use crate::failure::Failure;

/// Reads what a library exports, named by its path or as the system's loader takes it. It is not loaded.
pub(crate) fn read(name: &str) -> Result<Exports, Failure> {
    let path = find_library(name).map_err(|error| Failure::library(&error))?;
    Exports::read(path).map_err(|error| Failure::library(&error))
}
