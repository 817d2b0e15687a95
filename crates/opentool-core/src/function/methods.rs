//! The methods of a type as tools: what `#[toolbox]` implements.

use std::sync::Arc;

use super::declaration::Declaration;
use crate::{DefinitionError, ToolDefinition, Toolbox, ToolboxError};

/// A type whose methods are tools, which is what `#[toolbox]` on its `impl` block makes of it.
///
/// Such a type is itself a source of tools; the methods here are for other uses.
///
/// ```
/// use opentool_core::{DeclaredTools, tool, toolbox};
///
/// struct Counter(std::sync::atomic::AtomicU32);
///
/// #[toolbox]
/// impl Counter {
///     /// Count one up.
///     #[tool(inline)]
///     fn next(&self) -> u32 {
///         self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
///     }
/// }
///
/// assert_eq!(Counter::definitions()?[0].description(), "Count one up.");
/// assert!(Counter(0.into()).into_toolbox()?.contains("next"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait DeclaredTools: Sized + Send + Sync + 'static {
    /// Returns the tools as the attribute declared them.
    #[doc(hidden)]
    fn declare() -> Declarations<Self>;

    /// Returns what a model sees of the tools, without a value to call them on.
    ///
    /// # Errors
    ///
    /// Where the schema of a parameter does not compile.
    fn definitions() -> Result<Vec<ToolDefinition>, DefinitionError> {
        Self::declare().tools.into_iter().map(Declaration::definition).collect()
    }

    /// Returns the tools, which share the value.
    ///
    /// # Errors
    ///
    /// Where the schema of a parameter does not compile.
    fn into_toolbox(self) -> Result<Toolbox, ToolboxError> {
        let Declarations { title, version, tools } = Self::declare();
        let state = Arc::new(self);
        let mut toolbox = Toolbox::from_tools(tools.into_iter().map(|tool| tool.bind(&state)))?;
        if let Some(title) = title {
            toolbox = toolbox.with_title(title);
        }
        if let Some(version) = version {
            toolbox = toolbox.with_version(version);
        }
        Ok(toolbox)
    }
}

/// What `#[toolbox]` found in an `impl` block.
#[derive(Debug)]
pub struct Declarations<S> {
    /// The title of the toolbox.
    pub title: Option<String>,
    /// The version of the toolbox.
    pub version: Option<String>,
    /// The tools, in the order of the methods.
    pub tools: Vec<Declaration<S>>,
}
