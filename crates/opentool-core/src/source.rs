//! What yields a toolbox, asked per request: [`ToolSource`], and everything that converts: [`IntoToolSource`].

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_core::future::BoxFuture;
use futures_util::future::try_join_all;

use crate::changes::ToolChanges;
use crate::panics::{guarded, guarded_future};
use crate::{DeclaredTools, IntoTool, ToolError, ToolHandler, Toolbox, ToolboxError};

/// Yields a toolbox each time a request is made, so that what it offers may change between requests.
///
/// For instance a remote server's tools, or those a tenant has paid for. It has no default methods, so that a wrapper cannot
/// forget to forward one.
pub trait ToolSource: Send + Sync + 'static {
    /// Returns the tools of this moment.
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>>;

    /// Returns a signal for each time that the tools change; none where the source cannot know.
    fn changes(&self) -> Option<ToolChanges>;
}

/// Everything that can be given where tools are wanted.
///
/// Tools, toolboxes, vectors and tuples of those, types with `#[toolbox]`, [handlers](ToolHandler) and
/// [sources](ToolSource) convert. `M` is a marker, inferred, that keeps these conversions apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no source of tools",
    note = "give a tool (of a function with `#[tool]` that is `name::tool()`), a `Toolbox`, a type whose `impl` has `#[toolbox]`, a `ToolHandler`, a `ToolSource`, or a tuple of those"
)]
pub trait IntoToolSource<M> {
    /// Converts.
    ///
    /// # Errors
    ///
    /// Where the tools cannot stand in one toolbox, for instance because two have the same name.
    fn into_tool_source(self) -> Result<Source, ToolboxError>;
}

/// Tools, ready or to be asked for: what [`IntoToolSource`] makes.
#[derive(Clone)]
pub struct Source(SourceKind);

#[derive(Clone)]
enum SourceKind {
    Fixed(Toolbox),
    Asked(Arc<dyn ToolSource>),
    Several(Arc<[Source]>),
    Failed(ToolError),
}

impl Source {
    /// Converts, and keeps an error until the tools are asked for.
    pub fn new<M>(source: impl IntoToolSource<M>) -> Self {
        source.into_tool_source().unwrap_or_else(|error| Self(SourceKind::Failed(ToolError::fatal(error))))
    }

    /// Joins sources; where all are ready, a duplicate name is found now, else when they are asked.
    ///
    /// # Errors
    ///
    /// Where two tools have the same name.
    pub fn join(sources: Vec<Self>) -> Result<Self, ToolboxError> {
        let mut fixed = Toolbox::new();
        let mut asked = Vec::new();
        for source in &sources {
            match &source.0 {
                SourceKind::Fixed(toolbox) => fixed = fixed.merge(toolbox.clone())?,
                _ => asked.push(source.clone()),
            }
        }
        // Order matters to prompt caches, so the sources stay as given even though the fixed ones were joined.
        Ok(Self(if asked.is_empty() { SourceKind::Fixed(fixed) } else { SourceKind::Several(sources.into()) }))
    }

    /// Changes the tools each time they are asked for, for instance their names or which there are.
    ///
    /// ```
    /// use opentool_core::{FnTool, Source};
    ///
    /// let tools = Source::new((FnTool::new("read", || ""), FnTool::new("delete", || "")));
    /// let files = tools.map(|tools| tools.filter(|tool| tool.definition().name() != "delete").prefix("files_"));
    /// assert_eq!(files.fixed().unwrap().names().collect::<Vec<_>>(), ["files_read"]);
    /// ```
    #[must_use]
    pub fn map(self, change: impl Fn(Toolbox) -> Result<Toolbox, ToolboxError> + Send + Sync + 'static) -> Self {
        Self(match self.0 {
            SourceKind::Fixed(toolbox) => match change(toolbox) {
                Ok(changed) => SourceKind::Fixed(changed),
                Err(error) => SourceKind::Failed(ToolError::fatal(error)),
            },
            SourceKind::Failed(error) => SourceKind::Failed(error),
            kind => SourceKind::Asked(Arc::new(Mapped {
                source: Self(kind),
                change: Box::new(change),
                last: Mutex::default(),
            })),
        })
    }

    /// Returns the toolbox, where it need not be asked for.
    #[must_use]
    pub fn fixed(&self) -> Option<&Toolbox> {
        match &self.0 {
            SourceKind::Fixed(toolbox) => Some(toolbox),
            _ => None,
        }
    }

    /// Returns a signal for each time that the tools of any part change; none where no part can say so, or panics when asked.
    #[must_use]
    pub fn changes(&self) -> Option<ToolChanges> {
        match &self.0 {
            SourceKind::Fixed(_) | SourceKind::Failed(_) => None,
            SourceKind::Asked(source) => guarded(|| Ok(source.changes())).ok().flatten(),
            SourceKind::Several(sources) => ToolChanges::join(sources.iter().filter_map(Source::changes)),
        }
    }

    /// Returns the tools of this moment.
    ///
    /// # Errors
    ///
    /// Where a source cannot be reached or panics, or two tools have the same name.
    pub fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        Box::pin(async move {
            match &self.0 {
                SourceKind::Fixed(toolbox) => Ok(toolbox.clone()),
                SourceKind::Asked(source) => guarded_future(async { source.toolbox().await }).await,
                SourceKind::Failed(error) => Err(error.clone()),
                SourceKind::Several(sources) => {
                    let toolboxes = try_join_all(sources.iter().map(Source::toolbox)).await?;
                    // A definition is code of the user too.
                    guarded(|| toolboxes.into_iter().try_fold(Toolbox::new(), Toolbox::merge).map_err(ToolError::fatal))
                }
            }
        })
    }
}

type Change = dyn Fn(Toolbox) -> Result<Toolbox, ToolboxError> + Send + Sync;

/// A source whose tools are changed.
struct Mapped {
    source: Source,
    change: Box<Change>,
    /// What was changed last, and into what: most sources give the same toolbox again and again.
    last: Mutex<Option<(Toolbox, Toolbox)>>,
}

impl ToolSource for Mapped {
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        Box::pin(async move {
            let given = self.source.toolbox().await?;
            let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some((_, changed)) = last.filter(|(before, _)| before.is_same(&given)) {
                return Ok(changed);
            }
            let changed = (self.change)(given.clone()).map_err(ToolError::fatal)?;
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((given, changed.clone()));
            Ok(changed)
        })
    }

    fn changes(&self) -> Option<ToolChanges> {
        self.source.changes()
    }
}

impl From<Toolbox> for Source {
    fn from(toolbox: Toolbox) -> Self {
        Self(SourceKind::Fixed(toolbox))
    }
}

impl Default for Source {
    fn default() -> Self {
        Toolbox::new().into()
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            SourceKind::Fixed(toolbox) => toolbox.fmt(f),
            SourceKind::Asked(_) => f.write_str("Source(asked per request)"),
            SourceKind::Failed(error) => error.fmt(f),
            SourceKind::Several(sources) => f.debug_list().entries(sources.iter()).finish(),
        }
    }
}

/// The markers of [`IntoToolSource`]: one per kind of source, since blanket implementations would overlap.
pub mod kind {
    /// The marker of a [`Toolbox`](crate::Toolbox) and of a [`Source`](crate::Source).
    #[derive(Debug)]
    pub struct ByToolbox;
    /// The marker of a [`Tool`](crate::Tool) and of a [`FnTool`](crate::FnTool).
    #[derive(Debug)]
    pub struct ByTool;
    /// The marker of a type with `#[toolbox]`.
    #[derive(Debug)]
    pub struct ByDeclaration;
    /// The marker of a [`ToolHandler`](crate::ToolHandler).
    #[derive(Debug)]
    pub struct ByHandler;
    /// The marker of a [`ToolSource`](crate::ToolSource).
    #[derive(Debug)]
    pub struct BySource;
    /// The marker of several sources of one kind.
    #[derive(Debug)]
    pub struct Each<M>(std::marker::PhantomData<M>);
}

impl IntoToolSource<kind::ByToolbox> for Toolbox {
    fn into_tool_source(self) -> Result<Source, ToolboxError> {
        Ok(self.into())
    }
}

impl IntoToolSource<kind::ByToolbox> for Source {
    fn into_tool_source(self) -> Result<Source, ToolboxError> {
        Ok(self)
    }
}

impl<T: IntoTool> IntoToolSource<kind::ByTool> for T {
    fn into_tool_source(self) -> Result<Source, ToolboxError> {
        Ok(Toolbox::new().with(self)?.into())
    }
}

impl<T: DeclaredTools> IntoToolSource<kind::ByDeclaration> for T {
    fn into_tool_source(self) -> Result<Source, ToolboxError> {
        Ok(self.into_toolbox()?.into())
    }
}

impl<T: ToolHandler> IntoToolSource<kind::ByHandler> for T {
    fn into_tool_source(self) -> Result<Source, ToolboxError> {
        Ok(Toolbox::from_handler(self)?.into())
    }
}

impl<T: ToolSource> IntoToolSource<kind::BySource> for T {
    fn into_tool_source(self) -> Result<Source, ToolboxError> {
        Ok(Source(SourceKind::Asked(Arc::new(self))))
    }
}

impl<M, T: IntoToolSource<M>> IntoToolSource<kind::Each<M>> for Vec<T> {
    fn into_tool_source(self) -> Result<Source, ToolboxError> {
        Source::join(self.into_iter().map(T::into_tool_source).collect::<Result<_, _>>()?)
    }
}

impl<M, T: IntoToolSource<M>, const N: usize> IntoToolSource<kind::Each<M>> for [T; N] {
    fn into_tool_source(self) -> Result<Source, ToolboxError> {
        Source::join(self.into_iter().map(T::into_tool_source).collect::<Result<_, _>>()?)
    }
}

macro_rules! tuple_of_sources {
    ($($name:ident: $marker:ident),+) => {
        impl<$($name, $marker),+> IntoToolSource<($($marker,)+)> for ($($name,)+)
        where
            $($name: IntoToolSource<$marker>,)+
        {
            fn into_tool_source(self) -> Result<Source, ToolboxError> {
                #[expect(non_snake_case, reason = "the type's name is the value's")]
                let ($($name,)+) = self;
                Source::join(vec![$($name.into_tool_source()?),+])
            }
        }
    };
}

tuple_of_sources!(A: MA);
tuple_of_sources!(A: MA, B: MB);
tuple_of_sources!(A: MA, B: MB, C: MC);
tuple_of_sources!(A: MA, B: MB, C: MC, D: MD);
tuple_of_sources!(A: MA, B: MB, C: MC, D: MD, E: ME);
tuple_of_sources!(A: MA, B: MB, C: MC, D: MD, E: ME, F: MF);
