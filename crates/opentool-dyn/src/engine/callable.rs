//! A function of a plan, found in the library: [`Callable`].

use std::ffi::c_void;

use super::loaded::LoadedLibrary;
use super::prepared::Prepared;
use crate::plan::{Function, Plan};

/// A function of the plan in the library.
#[derive(Debug)]
pub(crate) struct Callable {
    pub(crate) prepared: Prepared,
    /// What frees the returned pointer.
    pub(crate) free: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Whether the result is a returned scalar and nothing else, and no code.
    pub(crate) is_plain: bool,
}

impl Callable {
    pub(crate) fn new(function: &Function, plan: &Plan, library: &LoadedLibrary) -> Result<Self, String> {
        if let Some(reason) = &function.disabled {
            return Err(reason.clone());
        }
        let missing = |symbol: &str| format!("the library has no function `{symbol}`");
        let code = library.function(&function.symbol).ok_or_else(|| missing(&function.symbol))?;
        let free = match &function.free {
            Some(symbol) => Some(library.free_function(symbol).ok_or_else(|| missing(symbol))?),
            None => None,
        };
        let prepared = Prepared::new(function, code, plan.stdcall)?;
        let is_plain = !prepared.has_pointers && function.success.is_none() && !function.errno;
        Ok(Callable { prepared, free, is_plain })
    }
}
