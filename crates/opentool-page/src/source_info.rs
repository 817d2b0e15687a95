//! What the page shows about where tools come from: [`PageSource`].

use serde::Serialize;

/// A source of tools, as a [page](crate::Page::sources) shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it is shown where a page is given it"]
pub struct PageSource {
    name: String,
    kind: String,
    isolation: Option<String>,
    is_up: bool,
    tools: Vec<String>,
}

/// A source as the API writes it.
#[derive(Serialize)]
pub(crate) struct SourceForm<'a> {
    name: &'a str,
    kind: &'a str,
    isolation: Option<&'a str>,
    up: bool,
    tools: usize,
}

impl PageSource {
    /// Describes a source by its name and what it is, such as `OpenTool server`.
    pub fn new(name: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { name: name.into(), kind: kind.into(), isolation: None, is_up: true, tools: Vec::new() }
    }

    /// Says what separates its code from this process, such as `sandboxed process`.
    pub fn isolation(mut self, isolation: impl Into<String>) -> Self {
        self.isolation = Some(isolation.into());
        self
    }

    /// Says whether it was there when it was last asked: true.
    pub fn up(mut self, is_up: bool) -> Self {
        self.is_up = is_up;
        self
    }

    /// Names its tools.
    pub fn tools<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.tools = names.into_iter().map(Into::into).collect();
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn tool_names(&self) -> &[String] {
        &self.tools
    }

    pub(crate) fn form(&self) -> SourceForm<'_> {
        let Self { name, kind, isolation, is_up, tools } = self;
        SourceForm { name, kind, isolation: isolation.as_deref(), up: *is_up, tools: tools.len() }
    }
}
