//! The checked plan of a document, made without the library: [`Plan`].

use opentool_core::ToolError;
use opentool_spec::Report;

use crate::OpenError;

/// How every function of a document is called.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The functions, in the order of the document; their index is what a worker is asked for.
    pub(crate) functions: Vec<Function>,
    /// Whether calls may run at the same time (`x-threadSafe`).
    pub(crate) thread_safe: bool,
    /// Whether some function hands out or takes handles: then all calls belong into the same worker.
    pub(crate) has_handles: bool,
    /// What was found in the document.
    pub(crate) report: Report,
}

/// How one function is called.
#[derive(Debug)]
pub(crate) struct Function {
    /// The name of the tool.
    pub(crate) name: String,
    /// The name of the symbol in the library.
    pub(crate) symbol: String,
    /// Why the function cannot be called, where it cannot.
    pub(crate) disabled: Option<String>,
}

impl Plan {
    /// Reads and checks a document.
    ///
    /// # Errors
    ///
    /// Where the document as a whole cannot be used; what is wrong with one function disables only that.
    pub(crate) fn of(text: &str) -> Result<Plan, OpenError> {
        let reading = opentool_spec::OpenDyn::read(text);
        Ok(Plan { functions: Vec::new(), thread_safe: false, has_handles: false, report: reading.report })
    }

    /// Checks arguments as a call of the function would, without calling anything.
    ///
    /// # Errors
    ///
    /// Where the call would refuse them; only whether a handle is alive is not known here.
    pub(crate) fn check_arguments(&self, function: usize, text: &str) -> Result<(), ToolError> {
        let _ = (function, text);
        Ok(())
    }
}
