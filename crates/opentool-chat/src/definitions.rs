//! What a model sees of the tools, written once per request: [`ToolDefinitions`].

use std::fmt;
use std::sync::{Arc, OnceLock};

use opentool_core::spec::schema::{SchemaTool, Target, tool_list};
use opentool_core::{ToolDefinition, Toolbox};
use serde_json::Value;
use serde_json::value::RawValue;

/// The definitions of the tools of one request, in the order of the toolbox.
///
/// They are made once per request and shared by all its rounds. So is the list that a provider sends: [`wire`](Self::wire)
/// writes it when it is first asked for (what that saves with 1,000 tools: `cargo bench -p opentool-chat`). A clone shares
/// both.
///
/// ```
/// use opentool_chat::ToolDefinitions;
/// use opentool_core::spec::schema::Target;
/// use opentool_core::{FnTool, Toolbox};
///
/// let definitions = ToolDefinitions::from_toolbox(Toolbox::from_tools([FnTool::new("now", || "noon")])?);
/// let list = definitions.wire(Target::Anthropic).get();
/// assert!(list.starts_with(r#"[{"name":"now","#));
/// assert!(std::ptr::eq(list, definitions.wire(Target::Anthropic).get()), "it was written once");
/// # Ok::<(), opentool_core::ToolboxError>(())
/// ```
#[derive(Clone, Default)]
pub struct ToolDefinitions(Arc<Inner>);

#[derive(Default)]
struct Inner {
    definitions: Vec<ToolDefinition>,
    toolbox: Option<Toolbox>,
    wire: [OnceLock<Box<RawValue>>; Target::ALL.len()],
    /// For OpenAI's Responses API, by whether it is strict.
    flat: [OnceLock<Box<RawValue>>; 2],
}

impl ToolDefinitions {
    /// Takes the definitions of a toolbox.
    #[must_use]
    pub fn from_toolbox(toolbox: Toolbox) -> Self {
        let definitions = toolbox.iter().map(|tool| tool.definition().clone()).collect();
        Self(Arc::new(Inner { definitions, toolbox: Some(toolbox), ..Inner::default() }))
    }

    /// Takes definitions without the tools, for a manager of your own.
    #[must_use]
    pub fn new(definitions: Vec<ToolDefinition>) -> Self {
        Self(Arc::new(Inner { definitions, ..Inner::default() }))
    }

    /// Returns the toolbox that the definitions were taken from.
    #[must_use]
    pub fn toolbox(&self) -> Option<&Toolbox> {
        self.0.toolbox.as_ref()
    }

    /// Returns the definitions in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &ToolDefinition> {
        self.0.definitions.iter()
    }

    /// Says whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.definitions.is_empty()
    }

    /// Returns how many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.definitions.len()
    }

    /// Returns the list of tools as a target takes it, written on the first call and kept for the request.
    #[must_use]
    pub fn wire(&self, target: Target) -> &RawValue {
        let place = Target::ALL.iter().position(|known| *known == target).unwrap_or_default();
        self.0.wire[place].get_or_init(|| raw(&self.list(target)))
    }

    /// Returns the list as OpenAI's Responses API takes it: as in chat completions, without the object around each function,
    /// and with a word on strictness, which would be assumed otherwise.
    pub(crate) fn flat_wire(&self, strict: bool) -> &RawValue {
        self.0.flat[usize::from(strict)].get_or_init(|| {
            let mut list = self.list(if strict { Target::OpenAiStrict } else { Target::OpenAi });
            for tool in list.as_array_mut().into_iter().flatten() {
                if let Some(Value::Object(mut function)) = tool.get_mut("function").map(Value::take) {
                    function.insert("type".to_owned(), "function".into());
                    function.entry("strict").or_insert(false.into());
                    *tool = function.into();
                }
            }
            raw(&list)
        })
    }

    fn list(&self, target: Target) -> Value {
        let tools = self
            .iter()
            .map(|definition| SchemaTool::new(definition.name(), definition.description(), definition.input_schema()));
        let list = tool_list(tools, target);
        for report in &list.reports {
            tracing::debug!(
                target: "opentool::chat", tool = %report.name, %target,
                dropped = report.dropped.len(), obstacles = report.obstacles.len(),
                "this schema cannot be sent in full"
            );
        }
        list.tools
    }
}

fn raw(list: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(list).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl fmt::Debug for ToolDefinitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(ToolDefinition::name)).finish()
    }
}
