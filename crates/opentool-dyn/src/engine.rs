//! A plan joined with the loaded library: [`Engine`].

mod call;
mod errno;
mod guard;
mod handles;
mod loaded;
mod prepared;
mod write;

use std::ffi::c_void;
use std::path::Path;
use std::sync::Arc;

use opentool_core::ToolError;

use self::handles::Handles;
use self::loaded::LoadedLibrary;
use self::prepared::Prepared;
use crate::LoadError;
use crate::arguments;
use crate::frame::Frame;
use crate::plan::{Function, Plan};

pub(crate) use errno::last_errno;
pub(crate) use guard::GuardedPages;

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
    /// Some text of the result was longer than may be told, and is cut.
    pub(crate) const CUT: Notes = Notes(2);
    /// Handles are open, which would be lost with the library.
    pub(crate) const HANDLES: Notes = Notes(4);
    /// The library was refused something, and went on.
    pub(crate) const REFUSED: Notes = Notes(8);

    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    pub(crate) fn from_bits(bits: u8) -> Self {
        Notes(bits)
    }

    pub(crate) fn contains(self, other: Notes) -> bool {
        self.0 & other.0 == other.0
    }

    fn add(&mut self, other: Notes) {
        self.0 |= other.0;
    }

    pub(crate) fn with(self, other: Notes) -> Notes {
        Notes(self.0 | other.0)
    }

    /// Says whether that is to be said, and no longer says it.
    pub(crate) fn take(&mut self, other: Notes) -> bool {
        let said = self.contains(other);
        self.0 &= !other.0;
        said
    }
}

/// A library that is loaded into this process, and the plan of its functions.
#[derive(Debug)]
pub(crate) struct Engine {
    plan: Arc<Plan>,
    /// For each function of the plan how it is called, or why it cannot be.
    functions: Vec<Result<Ready, String>>,
    handles: Handles,
    options: Options,
    /// What the functions are part of.
    _library: LoadedLibrary,
}

/// A function of the plan in the library.
#[derive(Debug)]
struct Ready {
    prepared: Prepared,
    /// What frees the returned pointer.
    free: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Whether the result is a returned scalar and nothing else, and no code.
    is_plain: bool,
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
        let loaded = LoadedLibrary::open(library)?;
        let functions = plan.functions.iter().map(|function| Ready::new(function, &plan, &loaded)).collect();
        let handles = Handles::new(plan.thread_safe);
        let engine = Engine { plan, functions, handles, options, _library: loaded };
        engine.initialise(library)?;
        Ok(engine)
    }

    /// Runs what the document says must run before everything else.
    fn initialise(&self, library: &Path) -> Result<(), LoadError> {
        let Some(init) = &self.plan.init else { return Ok(()) };
        if let Some(index) = self.plan.functions.iter().position(|function| function.name == *init) {
            let called = self.call(index, "{}", &mut Vec::new());
            return called
                .map(|_| ())
                .map_err(|error| LoadError::new(library, format!("`x-init` failed: {}", error.message())));
        }
        let Some(code) = self._library.function(init) else {
            return Err(LoadError::new(library, format!("`x-init` names `{init}`, which it does not have")));
        };
        // SAFETY: the document says that this function takes nothing; what it returns is not looked at. That the document
        // is right is the promise of whoever joined it with the library.
        unsafe { code() };
        Ok(())
    }

    /// Whether anybody has a handle that would be lost with the library.
    pub(crate) fn has_handles(&self) -> bool {
        self.plan.has_handles && !self.handles.is_empty()
    }

    /// Calls a function of the plan; `out` is cleared and gets the result, a JSON object.
    ///
    /// May be called from several threads at once if and only if the plan is thread-safe; otherwise the caller sees to it
    /// that there is one call at a time.
    ///
    /// # Errors
    ///
    /// As the tool's call: bad arguments, a stale handle, a code that says failure, a result that cannot be told.
    #[inline]
    pub(crate) fn call(&self, function: usize, arguments: &str, out: &mut Vec<u8>) -> Result<Notes, ToolError> {
        let plan = &self.plan.functions[function];
        let ready = match &self.functions[function] {
            Ok(ready) => ready,
            Err(reason) => return Err(unavailable(plan, reason)),
        };
        out.clear();
        let parameters = plan.parameters.len();
        Frame::with(parameters, |frame| {
            let called = arguments::read(plan, arguments, frame).and_then(|()| self.run(plan, ready, frame, out));
            if ready.prepared.has_pointers {
                frame.clear(parameters);
            }
            called
        })
    }
}

#[cold]
fn unavailable(function: &Function, reason: &str) -> ToolError {
    ToolError::failed(format!("`{}` cannot be called: {reason}", function.name))
}

impl Ready {
    fn new(function: &Function, plan: &Plan, library: &LoadedLibrary) -> Result<Self, String> {
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
        Ok(Ready { prepared, free, is_plain })
    }
}
