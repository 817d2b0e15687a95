//! A plan joined with the loaded library: [`Engine`].

mod call;
mod callable;
mod errno;
mod field_access;
mod finished;
mod handles;
mod loaded;
mod notes;
mod prepared;
mod retained;
mod struct_type;

use std::path::Path;
use std::sync::Arc;

use opentool_core::ToolError;

use self::call::Call;
use self::callable::Callable;
use self::handles::Handles;
use self::loaded::LoadedLibrary;
use crate::LoadError;
use crate::arguments;
use crate::frame::Frame;
use crate::plan::{Function, Plan};

pub(crate) use crate::memory::Options;
pub(crate) use errno::last_errno;
pub(crate) use notes::Notes;

/// A library that is loaded into this process, and the plan of its functions.
#[derive(Debug)]
pub(crate) struct Engine {
    plan: Arc<Plan>,
    /// For each function of the plan how it is called, or why it cannot be.
    functions: Vec<Result<Callable, String>>,
    handles: Handles,
    options: Options,
    /// What the functions are part of.
    _library: LoadedLibrary,
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
        let functions =
            plan.functions.iter().map(|function| Callable::new(function, &plan, &loaded, options)).collect();
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
        // SAFETY: the document says that this function takes nothing; what it returns is not read. That the document
        // is right is the promise of the caller that joined it with the library.
        unsafe { code() };
        Ok(())
    }

    /// Whether handles are open that would be lost with the library.
    pub(crate) fn has_handles(&self) -> bool {
        self.plan.has_handles && !self.handles.is_empty()
    }

    /// Calls a function of the plan; `out` is cleared and gets the result, a JSON object.
    ///
    /// May be called from several threads at once if and only if the plan is thread-safe; otherwise the caller makes
    /// one call at a time.
    ///
    /// # Errors
    ///
    /// As the tool's call: bad arguments, a stale handle, a code that says failure, a result that cannot be written.
    #[inline]
    pub(crate) fn call(&self, function: usize, arguments: &str, out: &mut Vec<u8>) -> Result<Notes, ToolError> {
        let plan = &self.plan.functions[function];
        let callable = match &self.functions[function] {
            Ok(callable) => callable,
            Err(reason) => return Err(unavailable(plan, reason)),
        };
        out.clear();
        let parameters = plan.parameters.len();
        Frame::with(parameters, |frame| {
            let call = Call {
                function: plan,
                callable,
                codes: &self.plan.codes,
                handles: &self.handles,
                options: self.options,
            };
            let called = arguments::read(plan, arguments, frame).and_then(|()| call.run(frame, out));
            if callable.has_pointers {
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
