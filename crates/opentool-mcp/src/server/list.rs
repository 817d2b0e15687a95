//! `tools/list`: the tools, page by page.

use std::hash::{DefaultHasher, Hash, Hasher};

use opentool_core::{Executor, Toolbox};
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use super::cache::CacheHints;
use super::definition::ToolEntry;
use super::error::ProtocolError;
use super::json_text::JsonText;
use super::result::Envelope;
use super::revision::Revision;

/// A page of tools.
pub(crate) struct Page<'a> {
    tools: &'a Toolbox,
    executor: &'a Executor,
    revision: Revision,
    start: usize,
    end: usize,
    next: Option<String>,
}

impl<'a> Page<'a> {
    /// Finds the page that a cursor asks for, the first one without a cursor.
    pub(crate) fn find(
        tools: &'a Toolbox,
        executor: &'a Executor,
        revision: Revision,
        cursor: Option<JsonText<'_>>,
        size: usize,
    ) -> Result<Self, ProtocolError> {
        let start = match cursor {
            None => 0,
            Some(cursor) => Cursor::read(cursor, tools)?,
        };
        let end = start.saturating_add(size).min(tools.len());
        let next = (end < tools.len()).then(|| Cursor { start: end, list: identity(tools) }.to_text());
        Ok(Self { tools, executor, revision, start, end, next })
    }
}

/// The place where a page begins, in a list that must still be the same.
struct Cursor {
    start: usize,
    list: u64,
}

impl Cursor {
    fn to_text(&self) -> String {
        format!("{:x}-{:016x}", self.start, self.list)
    }

    /// Reads a cursor and returns where its page begins.
    fn read(cursor: JsonText<'_>, tools: &Toolbox) -> Result<usize, ProtocolError> {
        let unknown =
            || ProtocolError::invalid_params("`cursor` is none that this server gave: list the tools from the start");
        let text = cursor.string().ok_or_else(unknown)?;
        let (start, list) = text.split_once('-').ok_or_else(unknown)?;
        let cursor = Self {
            start: usize::from_str_radix(start, 16).map_err(|_| unknown())?,
            list: u64::from_str_radix(list, 16).map_err(|_| unknown())?,
        };
        if cursor.list != identity(tools) {
            return Err(ProtocolError::invalid_params(
                "the tools have changed since the first page: list them from the start",
            ));
        }
        if cursor.start > tools.len() {
            return Err(unknown());
        }
        Ok(cursor.start)
    }
}

/// A number that differs where the names of a list or their order differ; the same in every process.
fn identity(tools: &Toolbox) -> u64 {
    let mut hasher = DefaultHasher::new();
    tools.names().for_each(|name| name.hash(&mut hasher));
    hasher.finish()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListResult<'a> {
    tools: Tools<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<&'a str>,
    #[serde(flatten)]
    cache: Option<CacheHints>,
    #[serde(flatten)]
    envelope: Envelope<'a>,
}

impl<'a> ListResult<'a> {
    pub(crate) fn new(page: &'a Page<'a>, cache: CacheHints, envelope: Envelope<'a>) -> Self {
        Self {
            tools: Tools(page),
            next_cursor: page.next.as_deref(),
            cache: page.revision.is_stateless().then_some(cache),
            envelope,
        }
    }
}

struct Tools<'a>(&'a Page<'a>);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Page { tools, executor, revision, start, end, .. } = *self.0;
        let mut listed = serializer.serialize_seq(Some(end - start))?;
        for tool in tools.iter().skip(start).take(end - start) {
            let is_checked = executor.checks_results(tool.definition());
            listed.serialize_element(&ToolEntry { tool: &**tool, is_checked, revision })?;
        }
        listed.end()
    }
}
