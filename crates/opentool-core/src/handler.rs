//! A user's own `call` and `load`, made into a toolbox: [`ToolHandler`].

use std::sync::Arc;

use futures_core::future::BoxFuture;
use opentool_spec::{Map, OpenTool};
use serde_json::{Value, json};

use crate::{Invocation, Resolver, Tool, ToolDefinition, ToolError, ToolMetadata, ToolOutput, Toolbox, ToolboxError};

/// The tool interface of the OpenTool client/server spec: one `call` for every function, and the document.
///
/// Where [`load`](Self::load) gives no document, calls of every name go through unchecked, and the
/// handler answers for the rest.
///
/// ```
/// use opentool_core::{Executor, ToolError, ToolHandler};
/// use opentool_spec::{Map, OpenTool};
///
/// struct Echo;
///
/// impl ToolHandler for Echo {
///     async fn call(&self, name: &str, arguments: Option<Map>) -> Result<Map, ToolError> {
///         match name {
///             "echo" => Ok(arguments.unwrap_or_default()),
///             _ => Err(ToolError::unknown_tool(name, &["echo"])),
///         }
///     }
///
///     fn load(&self) -> Option<OpenTool> {
///         None
///     }
/// }
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let host = Executor::default().host(Echo);
/// let output = host.call("echo", r#"{"a":1}"#).await?;
/// assert_eq!(output.to_text(), r#"{"a":1}"#);
/// # Ok::<(), ToolError>(())
/// # }).unwrap();
/// ```
pub trait ToolHandler: Send + Sync + 'static {
    /// Runs the function of that name; the arguments are none where the caller gave none.
    fn call(&self, name: &str, arguments: Option<Map>) -> impl Future<Output = Result<Map, ToolError>> + Send;

    /// Returns the document that describes the functions.
    fn load(&self) -> Option<OpenTool>;
}

impl Toolbox {
    /// Makes a toolbox of a handler, asking it for its document now.
    ///
    /// # Errors
    ///
    /// Where the document's functions cannot be tools, for instance because two have the same name.
    pub fn from_handler(handler: impl ToolHandler) -> Result<Self, ToolboxError> {
        let handler = Arc::new(handler);
        match handler.load() {
            None => Ok(Self::open(Unlisted { handler })),
            Some(document) => Self::from_document(&document, |definition| HandlerTool {
                definition,
                metadata: ToolMetadata::new(),
                handler: handler.clone(),
            }),
        }
    }
}

/// Makes a tool of any name, for a handler without a document.
struct Unlisted<H> {
    handler: Arc<H>,
}

impl<H: ToolHandler> Resolver for Unlisted<H> {
    fn resolve(&self, name: &str) -> Option<Arc<dyn Tool>> {
        // A name that no tool can have is an unknown tool.
        let definition = ToolDefinition::builder(name).input_schema(json!({ "type": "object" })).build().ok()?;
        let metadata = ToolMetadata::new().with_checks_own_arguments(true);
        Some(Arc::new(HandlerTool { definition, metadata, handler: self.handler.clone() }))
    }
}

struct HandlerTool<H> {
    definition: ToolDefinition,
    metadata: ToolMetadata,
    handler: Arc<H>,
}

impl<H: ToolHandler> Tool for HandlerTool<H> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.metadata
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let arguments: Map = invocation.arguments.parse()?;
            let arguments = (!arguments.is_empty()).then_some(arguments);
            let result = self.handler.call(self.definition.name(), arguments).await?;
            if result.is_empty() { Ok(ToolOutput::Empty) } else { ToolOutput::json(&Value::Object(result)) }
        })
    }
}
