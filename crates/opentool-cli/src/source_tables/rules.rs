//! Which tools of a source there are, under which names, and what is known about them: [`ToolRules`].

use std::{sync::Arc, time::Duration};

use clap::ValueEnum;
use opentool::{
    BoxFuture, Invocation, Tool, ToolDefinition, ToolError, ToolMetadata, ToolOutput, Toolbox, ToolboxError,
};
use opentool_spec::json::near;

use super::call_gate::CallGate;

/// The extension in which the tool of an MCP server has the name that the server knows.
const ORIGINAL_NAME: &str = "x-mcp-name";

/// The key of the tables of single tools.
const TOOL: &str = "tool";

/// Who approves the calls that need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approver {
    /// No one: such calls are denied
    Deny,
    /// The caller's side, by a question to the MCP client; an agent may answer it by itself
    Caller,
}

/// What a table says about the tools of its source. The names are those that the source itself has, without the prefix.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolRules {
    pub(crate) prefix: String,
    /// Those that there are; all where none are listed.
    pub(crate) only: Option<Vec<String>>,
    pub(crate) except: Vec<String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) limits: CallLimits,
    pub(crate) read_only: Vec<String>,
    pub(crate) destructive: Vec<String>,
    pub(crate) idempotent: Vec<String>,
    pub(crate) needs_approval: Vec<String>,
    pub(crate) approval: Option<Approver>,
    /// What is said about one tool.
    pub(crate) tools: Vec<(String, ToolRule)>,
}

/// What a table says about the calls of a source, or of one tool.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallLimits {
    /// How many bytes a result may have.
    pub(crate) max_result: Option<usize>,
    /// How many calls run at once.
    pub(crate) max_calls: Option<CallGate>,
    /// How often a model may call a tool in one turn.
    pub(crate) max_calls_per_turn: Option<u32>,
}

impl CallLimits {
    /// Adds what they say to what is known otherwise; the number of calls at once is kept by the tool itself.
    fn apply(&self, mut metadata: ToolMetadata) -> ToolMetadata {
        if let Some(bytes) = self.max_result {
            metadata = metadata.with_max_result_size(bytes);
        }
        match self.max_calls_per_turn {
            Some(calls) => metadata.with_call_limit(calls),
            None => metadata,
        }
    }

    /// The keys of those that are set.
    fn keys(&self) -> impl Iterator<Item = &'static str> {
        let CallLimits { max_result, max_calls, max_calls_per_turn } = self;
        let set = [
            ("max-result", max_result.is_some()),
            ("max-calls", max_calls.is_some()),
            ("max-calls-per-turn", max_calls_per_turn.is_some()),
        ];
        set.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key)
    }
}

/// What a table says about one tool of its source.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolRule {
    pub(crate) timeout: Option<Duration>,
    pub(crate) limits: CallLimits,
    /// What a function of a C library may do, in place of what the library may.
    pub(crate) allow: Option<Vec<String>>,
    pub(crate) read_only: Option<bool>,
    pub(crate) destructive: Option<bool>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) needs_approval: Option<bool>,
    pub(crate) approval: Option<Approver>,
}

impl ToolRule {
    /// Adds what it says to what is known otherwise.
    fn apply(&self, metadata: ToolMetadata) -> ToolMetadata {
        let mut metadata = self.limits.apply(metadata);
        if let Some(timeout) = self.timeout {
            metadata = metadata.with_timeout(timeout);
        }
        if let Some(said) = self.read_only {
            metadata = metadata.with_read_only(said);
        }
        if let Some(said) = self.destructive {
            metadata = metadata.with_destructive(said);
        }
        if let Some(said) = self.idempotent {
            metadata = metadata.with_idempotent(said);
        }
        // To say who approves a call is to say that it needs approval.
        match self.needs_approval.or(self.approval.map(|_| true)) {
            Some(said) => metadata.with_approval(said),
            None => metadata,
        }
    }
}

/// Who approves the calls of a source's tools, as far as its table says it.
#[derive(Debug, Clone)]
pub(crate) struct SourceApproval(ToolRules);

impl SourceApproval {
    /// Who approves the calls of a tool.
    pub(crate) fn approver(&self, tool: &dyn Tool) -> Option<Approver> {
        let ToolRules { prefix, tools, approval, .. } = &self.0;
        let own = tools.iter().filter(|(name, _)| is_named(tool, name, prefix)).find_map(|(_, rule)| rule.approval);
        own.or(*approval)
    }

    /// Whether the caller's side is asked about any of them.
    pub(crate) fn asks_caller(&self) -> bool {
        let own = self.0.tools.iter().filter_map(|(_, rule)| rule.approval);
        own.chain(self.0.approval).any(|approver| approver == Approver::Caller)
    }
}

impl ToolRules {
    /// What is known about tools, by the names that they have here.
    pub(crate) fn metadata(&self) -> Vec<(String, ToolMetadata)> {
        let mut known: Vec<(String, ToolMetadata)> = Vec::new();
        let mut state = |tools: &[String], say: fn(ToolMetadata) -> ToolMetadata| {
            for tool in tools {
                let name = format!("{}{tool}", self.prefix);
                match known.iter_mut().find(|(other, _)| *other == name) {
                    Some((_, metadata)) => *metadata = say(std::mem::take(metadata)),
                    None => known.push((name, say(ToolMetadata::new()))),
                }
            }
        };
        state(&self.read_only, |metadata| metadata.with_read_only(true));
        state(&self.destructive, |metadata| metadata.with_destructive(true));
        state(&self.idempotent, |metadata| metadata.with_idempotent(true));
        state(&self.needs_approval, |metadata| metadata.with_approval(true));
        for (tool, rule) in &self.tools {
            let name = format!("{}{tool}", self.prefix);
            match known.iter_mut().find(|(other, _)| *other == name) {
                Some((_, metadata)) => *metadata = rule.apply(std::mem::take(metadata)),
                None => known.push((name, rule.apply(ToolMetadata::new()))),
            }
        }
        known
    }

    /// What the functions of a C library may do that have grants of their own.
    pub(crate) fn own_grants(&self) -> Vec<(&str, &[String])> {
        self.tools.iter().filter_map(|(name, rule)| Some((name.as_str(), rule.allow.as_deref()?))).collect()
    }

    /// How many bytes the largest result may have, where the table says it.
    pub(crate) fn largest_result(&self) -> Option<usize> {
        let own = self.tools.iter().filter_map(|(_, rule)| rule.limits.max_result);
        own.chain(self.limits.max_result).max()
    }

    /// Who approves the calls of the tools, where the table says it.
    pub(crate) fn source_approval(&self) -> Option<SourceApproval> {
        let is_said = self.approval.is_some() || self.tools.iter().any(|(_, rule)| rule.approval.is_some());
        is_said.then(|| SourceApproval(self.clone()))
    }

    /// Finds, with the key where it stands, a name that the table lists and no tool of the source has: it would say nothing about the tool that was meant.
    ///
    /// `prefix` is what the names of the toolbox already begin with. The error has the key that it is about.
    pub(crate) fn check(&self, toolbox: &Toolbox, prefix: &str) -> Result<(), (String, String)> {
        if toolbox.is_open() {
            let own = self.tools.iter().filter(|(_, rule)| rule.limits.max_calls.is_some());
            let own = own.map(|(name, _)| (format!("{TOOL}.{name}"), "max-calls"));
            return match self.limits.keys().map(|key| (key.to_owned(), key)).chain(own).next() {
                Some((place, key)) => {
                    Err((place, format!("its server does not list its tools, so that `{key}` cannot be enforced")))
                }
                None => Ok(()),
            };
        }
        let of_tables: Vec<_> = self.tools.iter().map(|(name, _)| name.clone()).collect();
        let lists = [
            ("only", self.only.as_deref().unwrap_or_default()),
            ("except", &*self.except),
            ("read-only", &*self.read_only),
            ("destructive", &*self.destructive),
            ("idempotent", &*self.idempotent),
            ("needs-approval", &*self.needs_approval),
            (TOOL, &*of_tables),
        ];
        for (key, names) in lists {
            let unknown = names.iter().find(|name| !toolbox.iter().any(|tool| is_named(&**tool, name, prefix)));
            let Some(unknown) = unknown else { continue };
            let own = toolbox.names().map(|name| name.strip_prefix(prefix).unwrap_or(name));
            let near = near::names(unknown, own, 1).first().map(|name| format!("; did you mean `{name}`?"));
            let problem = format!("it has no tool `{unknown}`, which `{key}` lists{}", near.unwrap_or_default());
            return Err((if key == TOOL { format!("{TOOL}.{unknown}") } else { key.to_owned() }, problem));
        }
        Ok(())
    }

    /// Leaves out what the table leaves out, and changes the rest. `prefix` is what the names already begin with.
    pub(crate) fn apply(&self, toolbox: Toolbox, prefix: &str) -> Result<Toolbox, ToolboxError> {
        let (rules, begin) = (self.clone(), prefix.to_owned());
        let listed = move |tool: &dyn Tool, names: &[String]| names.iter().any(|name| is_named(tool, name, &begin));
        let mut toolbox = toolbox;
        if rules.only.is_some() || !rules.except.is_empty() {
            let ToolRules { only, except, .. } = rules;
            toolbox = toolbox
                .filter(move |tool| only.as_ref().is_none_or(|only| listed(tool, only)) && !listed(tool, &except));
        }
        toolbox = self.with_metadata(toolbox, prefix)?;
        if prefix.is_empty() && !self.prefix.is_empty() { toolbox.prefix(&self.prefix) } else { Ok(toolbox) }
    }
}

impl ToolRules {
    /// What is known about a tool by the table, besides what is known anyway; none where it says nothing about it.
    fn adjusted(&self, tool: &dyn Tool, prefix: &str) -> Option<ToolMetadata> {
        let known = tool.metadata();
        let said = |tools: &[String]| tools.iter().any(|name| is_named(tool, name, prefix));
        let mut metadata = self.limits.apply(known.clone());
        let mut is_changed = self.limits.keys().next().is_some();
        if let Some(timeout) = self.timeout.filter(|timeout| known.timeout() != Some(*timeout)) {
            (metadata, is_changed) = (metadata.with_timeout(timeout), true);
        }
        if known.read_only() != Some(true) && said(&self.read_only) {
            (metadata, is_changed) = (metadata.with_read_only(true), true);
        }
        if known.destructive() != Some(true) && said(&self.destructive) {
            (metadata, is_changed) = (metadata.with_destructive(true), true);
        }
        if known.idempotent() != Some(true) && said(&self.idempotent) {
            (metadata, is_changed) = (metadata.with_idempotent(true), true);
        }
        if !known.needs_approval() && said(&self.needs_approval) {
            (metadata, is_changed) = (metadata.with_approval(true), true);
        }
        for (_, rule) in self.tools.iter().filter(|(name, _)| is_named(tool, name, prefix)) {
            (metadata, is_changed) = (rule.apply(metadata), true);
        }
        is_changed.then_some(metadata)
    }

    /// What limits how many calls of a tool run at once. That of the tool comes first, so that calls which wait for it do not keep those of
    /// other tools waiting.
    fn gates(&self, tool: &dyn Tool, prefix: &str) -> Box<[CallGate]> {
        let own = self.tools.iter().filter(|(name, _)| is_named(tool, name, prefix));
        own.map(|(_, rule)| &rule.limits).chain([&self.limits]).filter_map(|limits| limits.max_calls.clone()).collect()
    }

    /// Adds what is known about the tools that are listed.
    fn with_metadata(&self, toolbox: Toolbox, prefix: &str) -> Result<Toolbox, ToolboxError> {
        if toolbox.is_open() || !toolbox.iter().any(|tool| self.adjusted(&**tool, prefix).is_some()) {
            return Ok(toolbox);
        }
        let mut adjusted = Toolbox::from_tools(toolbox.iter().map(|tool| {
            let metadata = self.adjusted(&**tool, prefix).unwrap_or_else(|| tool.metadata().clone());
            Adjusted { tool: tool.clone(), metadata, gates: self.gates(&**tool, prefix) }
        }))?;
        if let Some(title) = toolbox.title() {
            adjusted = adjusted.with_title(title);
        }
        if let Some(version) = toolbox.version() {
            adjusted = adjusted.with_version(version);
        }
        if let Some(description) = toolbox.description() {
            adjusted = adjusted.with_description(description);
        }
        Ok(adjusted)
    }
}

/// Whether a tool is meant by a name: its own, without the prefix, or the one that its server gave it.
fn is_named(tool: &dyn Tool, name: &str, prefix: &str) -> bool {
    let definition = tool.definition();
    let own = definition.name();
    own.strip_prefix(prefix) == Some(name)
        || definition.extension(ORIGINAL_NAME).is_some_and(|original| original.as_str() == Some(name))
}

/// A tool about which more is known than it says itself.
struct Adjusted {
    tool: Arc<dyn Tool>,
    metadata: ToolMetadata,
    gates: Box<[CallGate]>,
}

impl Tool for Adjusted {
    fn definition(&self) -> &ToolDefinition {
        self.tool.definition()
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.metadata
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        if self.gates.is_empty() {
            return self.tool.call(invocation);
        }
        Box::pin(async move {
            let mut permits = Vec::with_capacity(self.gates.len());
            for gate in &self.gates {
                permits.push(gate.enter().await);
            }
            self.tool.call(invocation).await
        })
    }
}
