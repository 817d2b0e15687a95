//! The tools of a source: [`Attached`].

use std::collections::BTreeMap;

use opentool::{ToolDefinition, ToolMetadata, Toolbox, ToolboxError, Workflow, workflow_faults};
use opentool_client::Client;
use opentool_spec::{Code, OpenTool, OpenWorkflow};

use super::opened::{Kind, Source, TableFacts, WorkflowSource};
use crate::{
    demo,
    failure::Failure,
    limits::ConnectOptions,
    next_step,
    source_tables::{SourceApproval, ToolRules},
    telemetry::{self, Export},
};

/// The tools of a source.
#[derive(Clone)]
pub(crate) struct Attached {
    /// Those of this moment.
    pub(crate) toolbox: Toolbox,
    /// What is asked for those of later moments.
    pub(crate) tools: opentool::Source,
    /// The client of the OpenTool server that has them.
    pub(crate) client: Option<Client>,
    /// What the steps of a workflow call.
    pub(crate) steps: StepTools,
}

/// The tools that the steps of a workflow call.
#[derive(Clone, Default)]
pub(crate) struct StepTools {
    pub(crate) toolbox: Toolbox,
    /// The names of those that are of other servers.
    pub(crate) remote: Vec<String>,
    /// Whether a server takes calls of tools that it does not list.
    pub(crate) open: bool,
    /// Their sources, and who approves calls of each, where its table says so.
    pub(crate) sources: Vec<(opentool::Source, Option<SourceApproval>)>,
}

/// What a source says about its functions.
pub(crate) struct Listing {
    /// The title and version of them all.
    pub(crate) title: Option<String>,
    pub(crate) definitions: Vec<ToolDefinition>,
    /// Whether there are no others.
    pub(crate) complete: bool,
}

impl Source {
    /// The tools of this moment, and what to ask for those of later moments.
    ///
    /// A document has its tools in it, so that its server need not be asked.
    pub(crate) async fn attach(
        &self,
        key: Option<&str>,
        known: &BTreeMap<&str, ToolMetadata>,
        connect: &ConnectOptions,
    ) -> Result<Attached, Failure> {
        let Some(TableFacts { rules, place, .. }) = &self.table else {
            return self.attach_all(key, known, connect, None).await;
        };
        // Those of an MCP server have their prefix from its client, which also shortens names.
        let prefix = if matches!(self.kind, Kind::Mcp(_)) { rules.prefix.clone() } else { String::new() };
        let own = ToolRules { prefix: prefix.clone(), ..rules.clone() }.metadata();
        // The command line says the names that the tools have in the end.
        let added = if prefix.is_empty() { rules.prefix.as_str() } else { "" };
        let mut all: BTreeMap<&str, ToolMetadata> = BTreeMap::new();
        for (tool, metadata) in known {
            all.insert(tool.strip_prefix(added).unwrap_or(tool), metadata.clone());
        }
        for (tool, metadata) in &own {
            all.entry(tool).or_insert_with(|| metadata.clone());
        }
        let connect = connect.clone().with_result_of(rules.largest_result());
        let Attached { toolbox, tools, client, steps } = self.attach_all(key, &all, &connect, Some(rules)).await?;
        rules.check(&toolbox, &prefix).map_err(|(key, problem)| place.fault(&key, &problem, None))?;
        let unusable = |source| Failure::Tools { name: self.to_string(), source };
        let toolbox = rules.apply(toolbox, &prefix).map_err(unusable)?;
        let rules = rules.clone();
        Ok(Attached { toolbox, tools: tools.map(move |toolbox| rules.apply(toolbox, &prefix)), client, steps })
    }

    /// Makes the tool of a workflow, over the tools that its steps call.
    async fn attach_workflow(
        &self,
        workflow: &WorkflowSource,
        known: &BTreeMap<&str, ToolMetadata>,
        connect: &ConnectOptions,
    ) -> Result<Attached, Failure> {
        let unusable = |source| Failure::Tools { name: self.to_string(), source };
        let document = |reason| Failure::Document { name: self.to_string(), reason };
        let mut steps = StepTools::default();
        let mut parts = Vec::with_capacity(workflow.tools.len());
        for (source, key) in &workflow.tools {
            let attached = Box::pin(source.attach(key.as_deref(), known, connect)).await?;
            if source.is_remote() {
                steps.remote.extend(attached.toolbox.names().map(str::to_owned));
            }
            steps.sources.push((attached.tools.clone(), source.approver()));
            steps.sources.extend(attached.steps.sources);
            steps.open |= source.is_remote() && attached.toolbox.is_open();
            steps.toolbox = steps.toolbox.merge(attached.toolbox).map_err(unusable)?;
            parts.push(attached.tools);
        }
        if let Some(fault) = workflow_faults(&workflow.document, &steps.toolbox).first() {
            let help = fault.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
            let failure = document(format!(
                "{}{help}: name what has the functions of its steps with `--tools SOURCE`",
                fault.message
            ));
            let is_of_words = self.table.is_none() && workflow.tools.is_empty();
            return Err(match is_of_words && fault.code == Code::UnknownFunction {
                true => Failure::usage_with(failure.to_string(), tools_for(&workflow.document)),
                false => failure,
            });
        }
        let tools = opentool::Source::join(parts).map_err(unusable)?;
        let tool = Workflow::new(&workflow.document, tools).map_err(|error| document(error.to_string()))?;
        let toolbox = workflow_toolbox(&workflow.document, tool).map_err(unusable)?;
        Ok(Attached { toolbox: toolbox.clone(), tools: toolbox.into(), client: None, steps })
    }

    async fn attach_all(
        &self,
        key: Option<&str>,
        known: &BTreeMap<&str, ToolMetadata>,
        connect: &ConnectOptions,
        rules: Option<&ToolRules>,
    ) -> Result<Attached, Failure> {
        if let Kind::Mcp(servers) = &self.kind {
            let (toolbox, tools) = servers.attach(key, known, connect).await?;
            return Ok(Attached { toolbox, tools, client: None, steps: StepTools::default() });
        }
        if let Kind::Workflow(workflow) = &self.kind {
            return self.attach_workflow(workflow, known, connect).await;
        }
        let prepare = |client: Client| {
            let client =
                if Export::active().is_some() { client.trace_context(telemetry::current_trace) } else { client };
            let client = connect.client(client);
            let client = match rules.and_then(|rules| rules.timeout) {
                Some(timeout) => client.timeout(timeout),
                None => client,
            };
            known.iter().fold(client, |client, (tool, metadata)| client.metadata(*tool, metadata.clone()))
        };
        let unusable = |source| Failure::Tools { name: self.to_string(), source };
        let client = self.client(key)?.map(prepare);
        let toolbox = match (&self.kind, &client) {
            (Kind::Url(_), Some(client)) => {
                let toolbox = client.toolbox().await.map_err(|error| self.failure(key.is_some(), error))?;
                let tools = opentool::Source::new(client.clone());
                return Ok(Attached { toolbox, tools, client: Some(client.clone()), steps: StepTools::default() });
            }
            (Kind::Document(document), Some(client)) => client.toolbox_from_document(document).map_err(unusable)?,
            (Kind::Library(library), _) => library.toolbox().clone(),
            _ => demo::toolbox().map_err(unusable)?,
        };
        Ok(Attached { toolbox: toolbox.clone(), tools: toolbox.into(), client, steps: StepTools::default() })
    }

    /// Its tools as far as they are known without asking a server or starting a program; none where they are not.
    pub(crate) async fn offline_toolbox(&self) -> Result<Option<Toolbox>, Failure> {
        match &self.kind {
            Kind::Demo | Kind::Document(_) | Kind::Library(_) => {
                Ok(Some(self.attach(None, &BTreeMap::new(), &ConnectOptions::default()).await?.toolbox))
            }
            Kind::Workflow(_) => {
                let Some(toolbox) = self.described_workflow()? else { return Ok(None) };
                let unusable = |source| Failure::Tools { name: self.to_string(), source };
                match &self.table {
                    Some(TableFacts { rules, .. }) => rules.apply(toolbox, "").map(Some).map_err(unusable),
                    None => Ok(Some(toolbox)),
                }
            }
            Kind::Url(_) | Kind::Described(_) | Kind::Mcp(_) => Ok(None),
        }
    }

    /// A workflow that is only described: its steps have no tools.
    fn described_workflow(&self) -> Result<Option<Toolbox>, Failure> {
        let Kind::Workflow(workflow) = &self.kind else { return Ok(None) };
        let made = Workflow::new(&workflow.document, Toolbox::new());
        let tool = made.map_err(|error| Failure::Document { name: self.to_string(), reason: error.to_string() })?;
        let toolbox = workflow_toolbox(&workflow.document, tool);
        toolbox.map(Some).map_err(|source| Failure::Tools { name: self.to_string(), source })
    }

    /// What the functions are, whether or not they can be called; none where a server does not say.
    pub(crate) async fn definitions(&self, key: Option<&str>, connect: &ConnectOptions) -> Result<Listing, Failure> {
        if let (Kind::Document(document), None) = (&self.kind, &self.table) {
            let definitions = document.functions.iter().map(|function| {
                ToolDefinition::from_function(document, function)
                    .map_err(|error| Failure::Document { name: self.to_string(), reason: error.to_string() })
            });
            let definitions = definitions.collect::<Result<_, _>>()?;
            let title = Some(format!("{} {}", document.info.title, document.info.version));
            return Ok(Listing { title, definitions, complete: true });
        }
        let toolbox = match self.described_workflow()? {
            Some(toolbox) => toolbox,
            None => self.attach(key, &BTreeMap::new(), connect).await?.toolbox,
        };
        let title = toolbox.title().map(|title| format!("{title} {}", toolbox.version().unwrap_or_default()));
        let definitions = toolbox.iter().map(|tool| tool.definition().clone()).collect();
        Ok(Listing { title, definitions, complete: !toolbox.is_open() })
    }

    /// The document that describes the functions, as the server gives it; none where it has none.
    pub(crate) async fn document(
        &self,
        key: Option<&str>,
        connect: &ConnectOptions,
    ) -> Result<Option<OpenTool>, Failure> {
        // The rules of a table change what the server has.
        let is_changed = matches!(self.kind, Kind::Mcp(_)) || self.table.is_some();
        let client = if is_changed { None } else { self.client(key)? };
        match client.map(|client| connect.client(client)) {
            Some(client) => client.load().await.map_err(|error| self.failure(key.is_some(), error)),
            None => {
                let toolbox = match self.described_workflow()? {
                    Some(toolbox) => toolbox,
                    None => self.attach(key, &BTreeMap::new(), connect).await?.toolbox,
                };
                let made = toolbox
                    .to_document()
                    .map_err(|error| Failure::Document { name: self.to_string(), reason: error.to_string() })?;
                Ok(Some(made.document.to_strict().document))
            }
        }
    }
}

/// What to try where nothing has the functions of a workflow.
fn tools_for(document: &OpenWorkflow) -> Option<String> {
    let is_demo = demo::toolbox().is_ok_and(|toolbox| workflow_faults(document, &toolbox).is_empty());
    let demo = if is_demo { next_step::with_option(&["--tools"], "demo") } else { None };
    demo.or_else(|| {
        Some("`--tools SOURCE`, with a document, a URL or a name of opentool.toml that has them".to_owned())
    })
}

/// A toolbox with the tool of a workflow, named as the document is.
fn workflow_toolbox(document: &OpenWorkflow, tool: Workflow) -> Result<Toolbox, ToolboxError> {
    let info = &document.info;
    let toolbox = Toolbox::new().with(tool)?.with_title(&info.title).with_version(&info.version);
    Ok(match &info.description {
        Some(description) => toolbox.with_description(description),
        None => toolbox,
    })
}
