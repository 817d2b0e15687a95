//! A document joined with a library: [`DynLibrary`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use opentool_core::{IntoToolSource, Source, ToolDefinition, ToolMetadata, Toolbox, ToolboxError, kind};
use opentool_spec::OpenDyn;

use crate::engine::{Engine, Options};
use crate::plan::Plan;
use crate::supervisor::{Settings, Supervisor};
use crate::tool::{DynTool, Place, Shared};
use crate::{OpenError, Permissions};

/// Where the functions of a library run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// In a worker process: whatever the library does, it cannot take this one down.
    #[default]
    Process,
    /// In this process, for a library that is trusted like one's own code: it may crash the process, read its memory
    /// and never return.
    None,
}

/// The functions of a C library as tools.
#[derive(Debug, Clone)]
pub struct DynLibrary {
    toolbox: Toolbox,
}

impl DynLibrary {
    /// Joins the document in a file with a library, whose functions run in a worker process.
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

    /// Returns the tools.
    #[must_use]
    pub fn toolbox(&self) -> &Toolbox {
        &self.toolbox
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
}

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

    /// Writes integers of 64 bits as strings, for callers whose numbers are doubles.
    pub fn big_integers_as_strings(mut self, as_strings: bool) -> Self {
        self.options.big_integers_as_strings = as_strings;
        self
    }

    /// Opens the library.
    ///
    /// # Errors
    ///
    /// Where the document or the library cannot be used.
    pub fn open(self) -> Result<DynLibrary, OpenError> {
        let text = match (self.text, self.document) {
            (Some(text), _) => text,
            (None, path) => {
                let path = path.unwrap_or_default();
                std::fs::read_to_string(&path).map_err(|source| OpenError::Read { path, source })?.into()
            }
        };
        let plan = Arc::new(Plan::of(&text)?);
        let place = match self.isolation {
            Isolation::None => Place::Here(Engine::load(plan.clone(), &self.library, self.options)?),
            Isolation::Process => Place::Worker(Supervisor::start(
                plan.clone(),
                Settings {
                    document: text.clone(),
                    library: self.library,
                    options: self.options,
                    permissions: self.permissions,
                    worker: self.worker,
                    timeout: self.timeout,
                },
            )?),
        };
        let shared = Arc::new(Shared { plan, place });
        let mut toolbox = Toolbox::new();
        if let Some(document) = OpenDyn::read(&text).document {
            let seen = document.to_opentool();
            toolbox = toolbox.with_title(&seen.info.title).with_version(&seen.info.version);
            for (index, function) in seen.functions.iter().enumerate() {
                let definition = ToolDefinition::from_function(&seen, function).map_err(ToolboxError::from)?;
                let metadata = ToolMetadata::new().with_checks_own_arguments(true);
                toolbox.add(DynTool { definition, metadata, function: index, shared: shared.clone() })?;
            }
        }
        Ok(DynLibrary { toolbox })
    }
}
