//! A set of tools by name: [`Toolbox`].

use std::fmt;
use std::sync::{Arc, LazyLock};

use indexmap::IndexMap;
use indexmap::map::Entry;
use opentool_spec::ServerObject;
use thiserror::Error;

use super::renamed::Renamed;
use crate::{DefinitionError, IntoTool, Resolver, Tool};

/// An ordered set of tools with unique names and, where they are known, a title, a version, a description and a server.
///
/// A clone shares the tools. A look-up takes the same time in a box of ten and of a hundred thousand.
///
/// ```
/// use opentool_core::{FnTool, Toolbox};
///
/// let clock = Toolbox::new().with(FnTool::new("now", || "12:00"))?.with(FnTool::new("set_alarm", || ()))?;
/// let mail = Toolbox::new().with(FnTool::new("send", || ()))?;
/// let all = clock.prefix("clock_")?.merge(mail)?;
/// assert_eq!(all.names().collect::<Vec<_>>(), ["clock_now", "clock_set_alarm", "send"]);
///
/// let twice = all.with(FnTool::new("send", || ())).unwrap_err();
/// assert_eq!(twice.to_string(), "two tools are named `send`: `send` and `send`");
/// # Ok::<(), opentool_core::ToolboxError>(())
/// ```
#[derive(Clone, Default)]
pub struct Toolbox(Arc<Inner>);

#[derive(Clone, Default)]
struct Inner {
    // The names come from the application, not from callers, so the hash need not resist crafted keys.
    tools: IndexMap<Arc<str>, Arc<dyn Tool>, foldhash::fast::RandomState>,
    title: Option<String>,
    version: Option<String>,
    description: Option<String>,
    server: Option<ServerObject>,
    /// The version of the OpenTool spec that the tools' one document follows.
    spec_version: Option<String>,
    /// Answers for the names that are not in the map: the whole of a handler without a document.
    open: Option<Arc<dyn Resolver>>,
}

/// How many names are compared one after another faster than one of them is hashed (`cargo bench -p opentool-core --bench calls`).
const FEW: usize = 4;

impl Toolbox {
    /// Makes an empty toolbox.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a toolbox of tools.
    ///
    /// # Errors
    ///
    /// Where two of them have the same name, or one cannot be built.
    pub fn from_tools<T: IntoTool>(tools: impl IntoIterator<Item = T>) -> Result<Self, ToolboxError> {
        let mut toolbox = Self::new();
        for tool in tools {
            toolbox.add(tool)?;
        }
        Ok(toolbox)
    }

    /// Makes a toolbox without a list of its tools, which asks for each of them by name.
    ///
    /// For whatever takes calls without saying what it can do, such as a handler without a document. Such tools
    /// should [check their own arguments](crate::ToolMetadata::with_checks_own_arguments).
    #[must_use]
    pub fn open(resolver: impl Resolver) -> Self {
        Self(Arc::new(Inner { open: Some(Arc::new(resolver)), ..Inner::default() }))
    }

    /// Sets the version of the OpenTool spec that the document of these tools follows, which [`to_document`](Self::to_document)
    /// writes back where it can.
    ///
    /// It gets lost where the tools are joined with others.
    #[must_use]
    pub fn with_spec_version(mut self, version: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.0).spec_version = Some(version.into());
        self
    }

    /// Adds a tool.
    ///
    /// # Errors
    ///
    /// Where a tool of that name is there, or this one cannot be built.
    pub fn with(mut self, tool: impl IntoTool) -> Result<Self, ToolboxError> {
        self.add(tool)?;
        Ok(self)
    }

    /// Sets the title.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.0).title = Some(title.into());
        self
    }

    /// Sets the version.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.0).version = Some(version.into());
        self
    }

    /// Sets what a model should know about the tools as a whole, such as when to use which.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.0).description = Some(description.into());
        self
    }

    /// Sets the server that has these tools, which a document names.
    ///
    /// It gets lost where it would no longer be true: where the tools are renamed or joined with others.
    #[must_use]
    pub fn with_server(mut self, server: ServerObject) -> Self {
        Arc::make_mut(&mut self.0).server = Some(server);
        self
    }

    /// Adds a tool.
    ///
    /// # Errors
    ///
    /// Where a tool of that name is there, or this one cannot be built; the toolbox is then unchanged.
    pub fn add(&mut self, tool: impl IntoTool) -> Result<(), ToolboxError> {
        self.insert(tool.into_tool()?)
    }

    fn insert(&mut self, tool: Arc<dyn Tool>) -> Result<(), ToolboxError> {
        match Arc::make_mut(&mut self.0).tools.entry(tool.definition().name().into()) {
            Entry::Vacant(entry) => {
                entry.insert(tool);
                Ok(())
            }
            Entry::Occupied(entry) => Err(ToolboxError::Duplicate {
                name: entry.key().to_string(),
                first: introduce(&**entry.get()),
                second: introduce(&*tool),
            }),
        }
    }

    /// Returns the title, where it is known.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.0.title.as_deref()
    }

    /// Returns the version, where it is known.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.0.version.as_deref()
    }

    /// Returns what a model should know about the tools as a whole, where there is something.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.0.description.as_deref()
    }

    /// Returns the version of the OpenTool spec that the document of these tools follows, where they are all of one document.
    #[must_use]
    pub fn spec_version(&self) -> Option<&str> {
        self.0.spec_version.as_deref()
    }

    /// Returns the server that has these tools, where it is known.
    #[must_use]
    pub fn server(&self) -> Option<&ServerObject> {
        self.0.server.as_ref()
    }

    /// Returns the tool of a name.
    #[must_use]
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let tools = &self.0.tools;
        if tools.len() <= FEW {
            return tools.iter().find(|(known, _)| ***known == *name).map(|(_, tool)| tool);
        }
        tools.get(name)
    }

    /// Says whether there is a tool of that name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.0.tools.contains_key(name)
    }

    /// Returns how many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.tools.len()
    }

    /// Says whether there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.tools.is_empty()
    }

    /// Says whether the toolbox also takes calls of tools that it does not list.
    ///
    /// That is so for a [handler](crate::ToolHandler) without a document: its calls go through unchecked.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.open.is_some()
    }

    /// Says whether both are clones of one toolbox, so that they have the same tools.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The toolbox of a call whose tools could not be had.
    pub(crate) fn none() -> &'static Self {
        static NONE: LazyLock<Toolbox> = LazyLock::new(Toolbox::new);
        &NONE
    }

    /// Returns the tools in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<dyn Tool>> {
        self.0.tools.values()
    }

    /// Returns the names in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.tools.keys().map(|name| &**name)
    }

    /// Keeps the tools that a predicate wants; an open toolbox asks it about every name that is called.
    #[must_use]
    pub fn filter(mut self, keep: impl Fn(&dyn Tool) -> bool + Send + Sync + 'static) -> Self {
        let inner = Arc::make_mut(&mut self.0);
        inner.tools.retain(|_, tool| keep(&**tool));
        if let Some(open) = inner.open.take() {
            inner.open = Some(Arc::new(move |name: &str| open.resolve(name).filter(|tool| keep(&**tool))));
        }
        self
    }

    /// Gives a tool another name; it keeps its place.
    ///
    /// # Errors
    ///
    /// Where there is no such tool, the new name breaks the rule for names, or another tool has it.
    pub fn rename(self, from: &str, to: &str) -> Result<Self, ToolboxError> {
        if !self.contains(from) {
            return Err(ToolboxError::Unknown { name: from.to_owned() });
        }
        self.rename_all(|name| if name == from { to.to_owned() } else { name.to_owned() })
    }

    /// Puts a prefix before the name of every tool.
    ///
    /// # Errors
    ///
    /// Where a name then breaks the rule for names.
    pub fn prefix(self, prefix: &str) -> Result<Self, ToolboxError> {
        let open = self.0.open.clone();
        let mut prefixed = self.rename_all(|name| format!("{prefix}{name}"))?;
        if let Some(open) = open {
            let prefix = prefix.to_owned();
            Arc::make_mut(&mut prefixed.0).open = Some(Arc::new(move |name: &str| {
                let tool = open.resolve(name.strip_prefix(&prefix)?)?;
                let renamed = Renamed::new(tool, name).ok()?;
                Some(Arc::new(renamed) as Arc<dyn Tool>)
            }));
        }
        Ok(prefixed)
    }

    fn rename_all(self, rename: impl Fn(&str) -> String) -> Result<Self, ToolboxError> {
        let mut renamed = Self(Arc::new(Inner {
            tools: IndexMap::default(),
            title: self.0.title.clone(),
            version: self.0.version.clone(),
            description: self.0.description.clone(),
            // The server knows the tools under their old names.
            server: None,
            spec_version: self.0.spec_version.clone(),
            open: self.0.open.clone(),
        }));
        for (old, tool) in &self.0.tools {
            let new = rename(old);
            renamed.insert(if *new == **old { tool.clone() } else { Arc::new(Renamed::new(tool.clone(), &new)?) })?;
        }
        Ok(renamed)
    }

    /// Adds the tools of another toolbox after these; title, version and description stay, where there are any.
    ///
    /// # Errors
    ///
    /// Where both have a tool of the same name, or both take calls of tools that they do not list.
    pub fn merge(mut self, other: Self) -> Result<Self, ToolboxError> {
        let server = if self.holds_nothing() {
            other.server().cloned()
        } else {
            self.server().filter(|server| other.holds_nothing() || other.server() == Some(server)).cloned()
        };
        let spec_version = match (self.holds_nothing(), other.holds_nothing()) {
            (true, _) => other.0.spec_version.clone(),
            (false, true) => self.0.spec_version.clone(),
            (false, false) => None,
        };
        for tool in other.iter() {
            self.insert(tool.clone())?;
        }
        let inner = Arc::make_mut(&mut self.0);
        inner.server = server;
        inner.spec_version = spec_version;
        match (&inner.open, &other.0.open) {
            (Some(_), Some(_)) => return Err(ToolboxError::Open),
            (None, open) => inner.open.clone_from(open),
            (Some(_), None) => {}
        }
        if inner.title.is_none() {
            inner.title.clone_from(&other.0.title);
        }
        if inner.version.is_none() {
            inner.version.clone_from(&other.0.version);
        }
        if inner.description.is_none() {
            inner.description.clone_from(&other.0.description);
        }
        Ok(self)
    }

    /// Says whether there is no tool that could be called.
    fn holds_nothing(&self) -> bool {
        self.is_empty() && !self.is_open()
    }
}

/// A toolbox resolves the tools it holds.
impl Resolver for Toolbox {
    fn resolve(&self, name: &str) -> Option<Arc<dyn Tool>> {
        match self.get(name) {
            Some(tool) => Some(tool.clone()),
            None => self.0.open.as_ref()?.resolve(name),
        }
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Toolbox");
        if let Some(title) = self.title() {
            out.field("title", &title);
        }
        if let Some(version) = self.version() {
            out.field("version", &version);
        }
        out.field("tools", &self.names().collect::<Vec<_>>());
        if self.is_open() {
            out.field("open", &true);
        }
        out.finish()
    }
}

/// Why a toolbox could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ToolboxError {
    /// Two tools have the same name.
    #[error("two tools are named `{name}`: {first} and {second}")]
    Duplicate {
        /// The name.
        name: String,
        /// The tool that had the name first.
        first: String,
        /// The tool that wanted it too.
        second: String,
    },
    /// There is no tool of that name.
    #[error("there is no tool named `{name}`")]
    Unknown {
        /// The name.
        name: String,
    },
    /// Both toolboxes take calls of tools that they do not list, so it is not known whose a call is.
    #[error("two handlers without a document cannot share a toolbox; give one of them a document or a prefix")]
    Open,
    /// A tool's definition could not be built.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
}

/// Names a tool so that a person can tell it from another of the same name.
fn introduce(tool: &dyn Tool) -> String {
    let definition = tool.definition();
    match definition.description() {
        description if description == definition.name() => format!("`{}`", definition.name()),
        description => format!("`{}` ({})", definition.name(), description.lines().next().unwrap_or_default()),
    }
}
