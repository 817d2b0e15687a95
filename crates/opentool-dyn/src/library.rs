//! A document joined with a library: [`DynLibrary`].

mod tools;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use opentool_core::{IntoToolSource, Source, Toolbox, ToolboxError, kind};
use opentool_spec::{Report, check_bytes};

use self::tools::toolbox;
use crate::engine::{Engine, Options};
use crate::exports::Exports;
use crate::find::find_library;
use crate::plan::{Function, Plan, marks};
use crate::serial::Serial;
use crate::supervisor::{Settings, WorkerSharing};
use crate::symbols::{disable_missing, is_callable};
use crate::tool::{Backend, Shared};
use crate::workers::Workers;
use crate::{Confinement, LoadError, OpenError, Permissions};

/// Where the functions of a library run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isolation {
    /// In a worker process: a crash of the library does not end this one.
    #[default]
    Process,
    /// In this process, for a library that is trusted like one's own code: it may crash the process, read its memory
    /// and never return. A call runs on the async thread that polls it, so its functions should be quick.
    None,
}

/// The functions of a C library as tools.
///
/// It converts to a source of tools wherever those are wanted. A clone shares the library.
#[derive(Debug, Clone)]
pub struct DynLibrary {
    toolbox: Toolbox,
    shared: Arc<Shared>,
}

impl DynLibrary {
    /// Joins the document in a file with a library, whose functions run in a worker process.
    ///
    /// It returns when the library is loaded, see [`DynLibraryBuilder::open`].
    ///
    /// # Errors
    ///
    /// Where the document or the library cannot be used.
    pub fn open(document: impl AsRef<Path>, library: impl AsRef<Path>) -> Result<DynLibrary, OpenError> {
        DynLibrary::builder().document(document.as_ref()).library(library.as_ref()).open()
    }

    /// Starts to say how a library is opened.
    pub fn builder() -> DynLibraryBuilder {
        DynLibraryBuilder::default()
    }

    /// Returns the tools: the functions that can be called.
    #[must_use]
    pub fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// Returns the functions that cannot be called, each with the reason.
    pub fn disabled(&self) -> impl Iterator<Item = (&str, &str)> {
        let functions = self.shared.plan.functions.iter();
        functions.filter_map(|function| Some((function.name.as_str(), function.disabled.as_deref()?)))
    }

    /// Returns the marks that the document's author left for a review (`x-review`): what is uncertain, by function.
    #[must_use]
    pub fn marks(&self) -> Vec<String> {
        marks(&self.shared.plan.document)
    }

    /// Returns the types of the handles that a function takes or makes. A handle means something only to functions that run in the
    /// same process.
    pub fn handle_types(&self, function: &str) -> impl Iterator<Item = &str> {
        let function = self.shared.plan.functions.iter().find(|planned| planned.name == function);
        function.into_iter().flat_map(Function::handle_types)
    }

    /// Returns what the system enforces on the library; nothing where it runs in this process.
    #[must_use]
    pub fn confinement(&self) -> Option<&Confinement> {
        match &self.shared.backend {
            Backend::Workers(workers) => Some(workers.confinement()),
            Backend::InProcess { .. } => None,
        }
    }

    /// Returns what was found in the document.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.shared.plan.report
    }
}

impl IntoToolSource<kind::ByToolbox> for DynLibrary {
    fn into_tool_source(self) -> Result<Source, ToolboxError> {
        Ok(self.toolbox.into())
    }
}

/// Says how a library is opened.
#[derive(Debug, Clone, Default)]
#[must_use = "a library is opened by `open`"]
pub struct DynLibraryBuilder {
    document: Option<PathBuf>,
    text: Option<Arc<str>>,
    library: PathBuf,
    isolation: Isolation,
    options: Options,
    permissions: Permissions,
    worker: Option<PathBuf>,
    timeout: Option<Duration>,
    sharing: WorkerSharing,
    idle_timeout: Option<Duration>,
}

/// After how long without a call the worker of one caller is ended.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10 * 60);

impl DynLibraryBuilder {
    /// Takes the document from a file.
    pub fn document(mut self, path: impl Into<PathBuf>) -> Self {
        self.document = Some(path.into());
        self
    }

    /// Takes the document as a text.
    pub fn document_text(mut self, text: impl Into<Arc<str>>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Names the library's file.
    pub fn library(mut self, path: impl Into<PathBuf>) -> Self {
        self.library = path.into();
        self
    }

    /// Says where the functions run.
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// Lets the library do more than nothing in its worker process.
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.permissions = permissions;
        self
    }

    /// Names the program that is started as the worker, instead of the running one.
    pub fn worker(mut self, program: impl Into<PathBuf>) -> Self {
        self.worker = Some(program.into());
        self
    }

    /// Sets how long a call may run in its worker process, before that is killed.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Says which callers share a worker process: all of them.
    pub fn worker_sharing(mut self, sharing: WorkerSharing) -> Self {
        self.sharing = sharing;
        self
    }

    /// Sets after how long without a call the worker of one caller is ended, where each caller has its own: ten minutes.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = Some(timeout);
        self
    }

    /// Writes integers of 64 bits as strings, for callers whose numbers are doubles.
    pub fn big_integers_as_strings(mut self, as_strings: bool) -> Self {
        self.options.big_integers_as_strings = as_strings;
        self
    }

    /// Opens the library.
    ///
    /// It blocks until the library is loaded: a few milliseconds, unless its constructors or `x-init` take longer. One that is
    /// not ready within the [`timeout`](Self::timeout), or ten seconds where there is none, is given up. A program with
    /// other things to do meanwhile calls it in `tokio::task::spawn_blocking`. Dropping a library never blocks.
    ///
    /// # Errors
    ///
    /// Where the document or the library cannot be used.
    pub fn open(self) -> Result<DynLibrary, OpenError> {
        let text = match (self.text, self.document) {
            (Some(text), _) => text,
            (None, path) => {
                let path = path.unwrap_or_default();
                match std::fs::read(&path) {
                    Ok(bytes) => String::from_utf8(bytes)
                        .map_err(|error| OpenError::Document(check_bytes(error.as_bytes()).findings))?
                        .into(),
                    Err(source) => return Err(OpenError::Read { path, source }),
                }
            }
        };
        let mut plan = Plan::parse(&text)?;
        let library = find_library(&self.library)?;
        let exports = Exports::read(&library)?;
        exports.loadable_here()?;
        disable_missing(&mut plan, &exports);
        disable_denied(&mut plan, &self.permissions, &library, &exports);
        check_init(&plan, &self.permissions, &library, &exports)?;
        if plan.functions.iter().all(|function| function.disabled.is_some()) {
            return Err(OpenError::NoFunctions(disabled(&plan)));
        }
        let plan = Arc::new(plan);
        let backend = match self.isolation {
            Isolation::None => Backend::InProcess {
                engine: Box::new(Engine::load(plan.clone(), &library, self.options)?),
                serial: (!plan.thread_safe).then(Serial::default),
            },
            Isolation::Process => Backend::Workers(Workers::start(
                plan.clone(),
                Settings {
                    document: text,
                    library,
                    options: self.options,
                    permissions: self.permissions,
                    worker: self.worker,
                    timeout: self.timeout,
                    sharing: self.sharing,
                    idle_timeout: self.idle_timeout.unwrap_or(IDLE_TIMEOUT),
                },
            )?),
        };
        let shared = Arc::new(Shared { plan, backend });
        let toolbox = toolbox(&shared, self.timeout)?;
        Ok(DynLibrary { toolbox, shared })
    }
}

/// Disables the functions that only an operator's permission makes callable.
fn disable_denied(plan: &mut Plan, permissions: &Permissions, library: &Path, exports: &Exports) {
    for function in plan.functions.iter_mut().filter(|function| function.disabled.is_none()) {
        let of_helper = |symbol: &str| match exports.get(symbol) {
            Some(_) => permissions.denial_reason(symbol, library),
            None => permissions.denial_reason_anywhere(symbol),
        };
        let denied = permissions.denial_reason(&function.symbol, library);
        function.disabled = denied.or_else(|| function.helpers.iter().find_map(|helper| of_helper(&helper.symbol)));
    }
}

/// Checks the function that runs without being called like those that are called.
fn check_init(plan: &Plan, permissions: &Permissions, library: &Path, exports: &Exports) -> Result<(), LoadError> {
    let Some(init) = &plan.init else { return Ok(()) };
    let denied = match plan.functions.iter().find(|function| function.name == *init) {
        Some(function) => function.disabled.clone(),
        None if !is_callable(exports, init) => {
            return Err(LoadError::new(library, format!("`x-init` names `{init}`, which it does not have")));
        }
        None => permissions.denial_reason(init, library),
    };
    match denied {
        Some(reason) => {
            Err(LoadError::new(library, format!("`x-init` names `{init}`, which cannot be called: {reason}")))
        }
        None => Ok(()),
    }
}

fn disabled(plan: &Plan) -> Vec<(String, String)> {
    let functions = plan.functions.iter();
    functions.filter_map(|function| Some((function.name.clone(), function.disabled.clone()?))).collect()
}
