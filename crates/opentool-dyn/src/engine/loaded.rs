//! The library in this process: [`LoadedLibrary`].

use std::ffi::{OsStr, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;

use super::prepared::CodePointer;
use crate::LoadError;

/// A function of a library that ends what a pointer points to.
pub(crate) type FreeFunction = unsafe extern "C" fn(*mut c_void);

/// A library that is loaded, for as long as the process lives.
///
/// It is never unloaded: its threads and what it registered to run at exit would be left without their code.
#[derive(Debug)]
pub(crate) struct LoadedLibrary {
    library: ManuallyDrop<libloading::Library>,
}

impl LoadedLibrary {
    /// Loads a library, with all its symbols resolved at once and none of them shown to other libraries.
    pub(crate) fn open(path: &Path) -> Result<Self, LoadError> {
        let library = open(path.as_os_str()).map_err(|error| LoadError::new(path, reason(path, &error)))?;
        Ok(LoadedLibrary { library: ManuallyDrop::new(library) })
    }

    /// The address of a function.
    pub(crate) fn function(&self, symbol: &str) -> Option<CodePointer> {
        // SAFETY: the symbol is taken as the address of some function and nothing is called here. That it is a function,
        // and which one, is the promise of the caller that joined document and library.
        let found = unsafe { self.library.get::<CodePointer>(symbol) };
        found.ok().map(|symbol| *symbol)
    }

    /// The address of a function that frees what it is given.
    pub(crate) fn free_function(&self, symbol: &str) -> Option<FreeFunction> {
        // SAFETY: as above; the document says that this function takes a pointer.
        let found = unsafe { self.library.get::<FreeFunction>(symbol) };
        found.ok().map(|symbol| *symbol)
    }

    /// The address of a variable.
    pub(crate) fn variable(&self, symbol: &str) -> Option<*mut c_void> {
        // SAFETY: the symbol is taken as an address and nothing is read here.
        let found = unsafe { self.library.get::<*mut c_void>(symbol) };
        found.ok().map(|symbol| *symbol).filter(|address| !address.is_null())
    }
}

#[cfg(unix)]
fn open(path: &OsStr) -> Result<libloading::Library, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: constructors of the library run. The caller that loads a library into a process trusts it with that
    // process; untrusted ones are loaded in a worker.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map(Into::into)
}

#[cfg(not(unix))]
fn open(path: &OsStr) -> Result<libloading::Library, libloading::Error> {
    // SAFETY: as on Unix.
    unsafe { libloading::Library::new(path) }
}

/// What the system says, without the path before it, which the error names already.
fn reason(path: &Path, error: &libloading::Error) -> String {
    let text = match (error, std::error::Error::source(error)) {
        (libloading::Error::DlOpenUnknown, _) => "no reason is given".to_owned(),
        (_, Some(source)) => format!("{error}: {source}"),
        (_, None) => error.to_string(),
    };
    match text.split_once(&format!("{}: ", path.display())) {
        Some((_, reason)) => reason.to_owned(),
        None => text,
    }
}
