//! A function of a plan, found in the library: [`Callable`].

use std::ffi::c_void;

use super::loaded::{FreeFunction, LoadedLibrary};
use super::prepared::Prepared;
use crate::closure::ClosurePool;
use crate::memory::Options;
use crate::plan::{Function, Passing, Plan};

/// A function of the plan in the library.
#[derive(Debug)]
pub(crate) struct Callable {
    pub(crate) entry: Entry,
    /// The other functions of the library that it needs, as the plan lists them.
    pub(crate) helpers: Box<[FreeFunction]>,
    /// For each parameter that is a callback, where its closures come from; empty where there is none.
    pub(crate) callbacks: Box<[Option<&'static ClosurePool>]>,
    /// Whether the result is a returned scalar and nothing else, and no code.
    pub(crate) is_plain: bool,
    /// Whether some parameter or the returned value is more than a scalar.
    pub(crate) has_pointers: bool,
}

/// What a call does with the library.
#[derive(Debug)]
pub(crate) enum Entry {
    /// Calls a function.
    Function(Prepared),
    /// Reads a variable at this address.
    Variable(VariableAddress),
}

/// The address of a variable of the library, which is never unloaded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VariableAddress(pub(crate) *mut c_void);

// SAFETY: an address is not more than a number; who reads it answers for it.
unsafe impl Send for VariableAddress {}
// SAFETY: as above.
unsafe impl Sync for VariableAddress {}

impl Callable {
    pub(crate) fn new(
        function: &Function,
        plan: &Plan,
        library: &LoadedLibrary,
        options: Options,
    ) -> Result<Self, String> {
        if let Some(reason) = &function.disabled {
            return Err(reason.clone());
        }
        let missing = |symbol: &str| format!("the library has no function `{symbol}`");
        if function.global.is_some() {
            let missing = || format!("the library has no variable `{}`", function.symbol);
            let entry = Entry::Variable(VariableAddress(library.variable(&function.symbol).ok_or_else(missing)?));
            return Ok(Callable {
                entry,
                helpers: Box::default(),
                callbacks: Box::default(),
                is_plain: false,
                has_pointers: false,
            });
        }
        let code = library.function(&function.symbol).ok_or_else(|| missing(&function.symbol))?;
        let helper = |symbol: &str| library.free_function(symbol).ok_or_else(|| missing(symbol));
        let helpers = function.helpers.iter().map(|named| helper(&named.symbol)).collect::<Result<_, _>>()?;
        let has_callbacks =
            function.parameters.iter().any(|parameter| matches!(parameter.passing, Passing::Callback(_)));
        let pool = |passing: &Passing| match passing {
            Passing::Callback(callback) => ClosurePool::new(callback, options).map(Some),
            _ => Ok(None),
        };
        let callbacks = match has_callbacks {
            true => function.parameters.iter().map(|parameter| pool(&parameter.passing)).collect::<Result<_, _>>()?,
            false => Box::default(),
        };
        let prepared = Prepared::new(function, code, plan.stdcall)?;
        let has_pointers = prepared.has_pointers;
        let is_plain = !has_pointers && function.success.is_none() && !function.errno;
        Ok(Callable { entry: Entry::Function(prepared), helpers, callbacks, is_plain, has_pointers })
    }
}
